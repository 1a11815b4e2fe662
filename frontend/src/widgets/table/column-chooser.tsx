// Which columns a table shows: some are hidden at first. The choice is a list of the differences,
// `launch_ns,-calls`: kept by whoever provides the memory, so that a link shows the same.
import { createContext } from "preact";
import { t } from "../../i18n";
import type { Column } from "./columns";
import { Popover } from "../controls/popover";
import "./column-chooser.css";

export interface ColumnMemory {
  get: (table: string) => string | null;
  set: (table: string, choice: string | null) => void;
}

export const ColumnMemoryContext = createContext<ColumnMemory>({ get: () => null, set: () => undefined });

/** The columns that a choice shows; never none, as the first one names the row. */
export function chosenColumns<Row>(
  columns: readonly Column<Row>[],
  choice: string | null,
): readonly Column<Row>[] {
  const differences = new Set((choice ?? "").split(","));
  return columns.filter(
    (c, i) => i === 0 || (c.optional ? differences.has(c.key) : !differences.has(`-${c.key}`)),
  );
}

/** The choice after a column was switched; null for what a table shows at first. */
export function switched<Row>(
  columns: readonly Column<Row>[],
  choice: string | null,
  key: string,
): string | null {
  const now = new Set(chosenColumns(columns, choice).map((c) => c.key));
  if (!now.delete(key)) now.add(key);
  const differences = columns.flatMap((c, i) =>
    i === 0 || now.has(c.key) !== (c.optional === true) ? [] : [now.has(c.key) ? c.key : `-${c.key}`],
  );
  return differences.join(",") || null;
}

interface ChooserProps<Row> {
  columns: readonly Column<Row>[];
  choice: string | null;
  onChoose: (choice: string | null) => void;
}

export function ColumnChooser<Row>({ columns, choice, onChoose }: ChooserProps<Row>) {
  const shown = new Set(chosenColumns(columns, choice).map((c) => c.key));
  return (
    <Popover
      label={t.table.columns}
      title={t.table.chooseColumns}
      testid="columns"
      class="quiet"
      attributes={{ "data-value": choice ?? "" }}
    >
      {() => (
        <div class="column-chooser">
          {columns.slice(1).map((c) => (
            <label key={c.key} title={c.help}>
              <input
                type="checkbox"
                checked={shown.has(c.key)}
                data-testid={`column-${c.key}`}
                onChange={() => onChoose(switched(columns, choice, c.key))}
              />{" "}
              {c.title}
            </label>
          ))}
          <button
            type="button"
            class="link"
            disabled={choice === null}
            data-testid="columns-reset"
            onClick={() => onChoose(null)}
          >
            {t.table.usualColumns}
          </button>
        </div>
      )}
    </Popover>
  );
}
