// CSV as spreadsheets and pandas read it (RFC 4180), exact values.

type Value = string | number | bigint | null;

/** Rows of values below a line of names. */
export function csv(names: readonly string[], rows: Iterable<readonly Value[]>): string {
  const lines = [names.map(cell).join(",")];
  for (const row of rows) lines.push(row.map(cell).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function cell(value: Value): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  // A spreadsheet would run a text from the trace that starts like a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
