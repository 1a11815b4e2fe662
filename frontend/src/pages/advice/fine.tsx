// What advice checked and found to cost nothing.
import type { FineRow, OpenClass } from "../../api/types";
import { t } from "../../i18n";
import "../shared/finding-parts.css";

const texts = t.advice;

/** What was checked and costs nothing. */
export function Fine({ rows }: { rows: readonly FineRow[] }) {
  return <Statements id="fine" title={texts.fine} rows={rows} />;
}

/** The classes of the account that no finding is about. */
export function Open({ rows }: { rows: readonly OpenClass[] }) {
  return <Statements id="open" title={texts.open} rows={rows} />;
}

interface StatementsProps {
  id: string;
  title: string;
  rows: readonly { name: string; statement: string; share: number }[];
}

function Statements({ id, title, rows }: StatementsProps) {
  if (!rows.length) return null;
  return (
    <section data-testid={id} data-value={rows.length}>
      <h2>{title}</h2>
      <ul>
        {rows.map((row) => (
          <li key={row.name} data-key={row.name} data-value={row.share}>
            {row.statement}
          </li>
        ))}
      </ul>
    </section>
  );
}
