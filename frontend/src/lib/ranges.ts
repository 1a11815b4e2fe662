// Whole numbers in short: runs of successive ones become ranges.

/** The runs of successive numbers in an ascending list, as text: ["0–2", "5"]. */
export function ranges(numbers: readonly number[]): string[] {
  const runs: { first: number; last: number }[] = [];
  for (const n of numbers) {
    const run = runs.at(-1);
    if (run !== undefined && run.last + 1 === n) run.last = n;
    else runs.push({ first: n, last: n });
  }
  return runs.flatMap(({ first, last }) => {
    if (last === first) return [String(first)];
    return last === first + 1 ? [String(first), String(last)] : [`${first}–${last}`];
  });
}
