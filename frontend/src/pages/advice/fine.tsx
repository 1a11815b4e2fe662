// What advice checked and found to cost nothing.
import type { FineRow } from "../../api/types";
import { t } from "../../i18n";
import "../shared/finding-parts.css";

const texts = t.advice;

/** What was checked and costs nothing. */
export function Fine({ rows }: { rows: readonly FineRow[] }) {
  if (!rows.length) return null;
  return (
    <section data-testid="fine" data-value={rows.length}>
      <h2>{texts.fine}</h2>
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
