// Drafts in the browser. A storage that is full, shut or filled by others is no reason to stop typing: no draft then.

export function read(key) {
  try {
    const { text, at } = JSON.parse(localStorage.getItem(key));
    return typeof text === "string" && Number.isSafeInteger(at) ? { text, at } : null;
  } catch {
    return null;
  }
}

// A draft that is the starter is none; one that was typed later, in another window, stays.
export function keep(key, text, at, starter) {
  if (read(key)?.at > at) return;
  try {
    if (text === starter) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify({ text, at }));
  } catch {
    // as above
  }
}
