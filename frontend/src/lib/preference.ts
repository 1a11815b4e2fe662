// Preferences of the reader, which no link holds: stored in the browser, if it allows that.

/** The value of a preference; null if none is stored. */
export function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a preference, or removes it with null. */
export function store(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Private browsing: it holds until the page is left.
  }
}
