// The library's half: fetched by the browser once, it hands `show` to the light half, which comes with every run.
import { show } from "./editor.js";

export default () => globalThis.headwiseEditor.give(show);
