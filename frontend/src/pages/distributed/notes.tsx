// Notes of the server about the ranks: what is missing, differs, or is not comparable.
import type { Distributed as Result } from "../../api/types";

export function Notes({ result }: { result: Result }) {
  if (result.notes.length === 0) return null;
  return (
    <aside class="notice" data-kind="host_only">
      {result.notes.map((n) => (
        <p key={`${n.code}/${n.message}`} data-testid="rank-note" data-code={n.code}>
          <b>{n.message}</b> {n.hint}
        </p>
      ))}
    </aside>
  );
}
