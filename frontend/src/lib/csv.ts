// CSV as spreadsheets and pandas read it (RFC 4180), exact values.

type Value = string | number | bigint | null;

/** Rows of values below a line of names. `same` are columns at the end with one value in all rows: a
 * spreadsheet would take a comment for a row. */
export function csv(
  names: readonly string[],
  rows: Iterable<readonly Value[]>,
  same: Readonly<Record<string, string>> = {},
): string {
  const last = Object.values(same);
  const lines = [[...names, ...Object.keys(same)].map(cell).join(",")];
  for (const row of rows) lines.push([...row, ...last].map(cell).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function cell(value: Value): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  // A spreadsheet would run a text from the trace that starts like a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
