// Writes bundle.js. Its first line says of which sources it is made; the tests compare.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { build } from "esbuild";

const sources = ["build.mjs", "package-lock.json", ...readdirSync("src").map((name) => `src/${name}`)].sort();
const hash = createHash("sha256");
for (const name of sources) hash.update(readFileSync(name));

await build({
  entryPoints: ["src/index.js"],
  outfile: "bundle.js",
  bundle: true,
  format: "esm",
  minify: true,
  charset: "utf8",
  lineLimit: 400,
  target: ["es2022"],
  banner: { js: `// Built by build.mjs from ${hash.digest("hex")}. Contains CodeMirror (MIT): LICENSE-CodeMirror.txt` },
});
