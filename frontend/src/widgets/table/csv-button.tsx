// A button that downloads the rows of a small table as CSV, with the exact values of the result.
import { useContext } from "preact/hooks";
import { csv } from "../../lib/csv";
import { download } from "../../lib/dom";
import { t } from "../../i18n";
import { WindowContext } from "../window-context";
import "./csv-button.css";

/** What is within a value, as a list or a part of its own, is JSON. Without rows there is no button. */
export function CsvButton({
  name,
  rows,
  file = name,
}: {
  name: string;
  rows: readonly object[];
  file?: string;
}) {
  const windows = useContext(WindowContext);
  if (rows.length === 0) return null;
  const save = (): void => {
    const names = Object.keys(rows[0] ?? {});
    const body = rows.map((row) => names.map((key) => plain((row as Record<string, unknown>)[key])));
    download(`${file}.csv`, csv(names, body, windows), "text/csv;charset=utf-8");
  };
  return (
    <button type="button" class="quiet" onClick={save} data-testid={`csv-${name}`} title={t.table.save}>
      CSV
    </button>
  );
}

function plain(value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" || typeof value === "number" ? value : JSON.stringify(value);
}
