// The figures of a row of a table, the columns that the table has no room for included.
import { MISSING } from "../../../lib/format";
import { exact, shown, type Column } from "../../../widgets/table/columns";
import { Fact } from "../finding-parts";

interface RowFactsProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
  /** The columns to leave out: what the inspector says anyway. */
  without: readonly string[];
  testid?: string;
}

export function RowFacts<Row>({ row, columns, without, testid = "row-facts" }: RowFactsProps<Row>) {
  return (
    <dl class="facts figures" data-testid={testid}>
      {columns.map((column) => {
        const value = column.value(row);
        const empty = value === null || value === "" || (value === 0 && column.optional);
        if (empty || without.includes(column.key)) return null;
        return (
          <Fact
            key={column.key}
            id={column.key}
            name={column.title}
            title={column.full?.(row) ?? exact(value, column.kind, column.bound?.(row) ?? 0) ?? MISSING}
          >
            {column.cell ? column.cell(row) : shown(value, column.kind)}
          </Fact>
        );
      })}
    </dl>
  );
}
