// A part of the recording as text in the URL.

/** `start..end` in ns; null for none and for what cannot be read. */
export function parseRange(text: string | null): { start: number; end: number } | null {
  const match = /^(-?\d{1,15})\.\.(-?\d{1,15})$/.exec(text ?? "");
  const [start, end] = [Number(match?.[1]), Number(match?.[2])];
  return match && start < end ? { start, end } : null;
}
