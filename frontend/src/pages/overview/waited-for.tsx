// Of a job of many ranks: the line about who keeps the others waiting, which comes with its first use.
import { whenQuiet } from "../../api/client";
import type { Selected } from "../../state/selection";
import { onDemand } from "../shared/on-demand";

/** Its script comes after all else, too. */
const Line = onDemand(async () => {
  await whenQuiet();
  return (await import("./waited-for-line")).WaitedForLine;
});

/** Nothing of one rank alone. */
export function WaitedFor({ selected }: { selected: Selected }) {
  const ranks = selected.run?.workers.length ?? 0;
  return ranks < 2 ? null : (
    <div class="waited-for">
      <Line selected={selected} ranks={ranks} />
    </div>
  );
}
