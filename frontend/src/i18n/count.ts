// Whole numbers in texts: thousands separators and plurals.

/** `12,345`. */
export function count(n: number | bigint): string {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** `1 step`, `2 steps`: for English; other languages take `count`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
