// Preferences of the reader, which no link holds: stored in the browser, if it allows that.

const PREFIX = "tb_privateuse1.";
/** What some preferences had before their name in earlier versions: they are moved when they are read. */
const OLD_PREFIX = "privateuse1.";

/** Returns the value of a preference; null if none is stored. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name) ?? moved(name);
  } catch {
    return null;
  }
}

function moved(name: string): string | null {
  const old = localStorage.getItem(OLD_PREFIX + name);
  if (old !== null) {
    localStorage.setItem(PREFIX + name, old);
    localStorage.removeItem(OLD_PREFIX + name);
  }
  return old;
}

/** Stores a preference, or removes it with null. Returns whether the browser stores it beyond this page. */
export function store(name: string, value: string | null): boolean {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
    return true;
  } catch {
    return false; // Private browsing.
  }
}
