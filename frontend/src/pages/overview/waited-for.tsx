// Of a job of many ranks: the line about who keeps the others waiting, which comes with its first use.
import type { Selected } from "../../state/selection";
import { onDemand } from "../shared/on-demand";

const Line = onDemand(() => import("./waited-for-line").then((module) => module.WaitedForLine));

/** Nothing of one rank alone. */
export function WaitedFor({ selected }: { selected: Selected }) {
  const ranks = selected.run?.workers.length ?? 0;
  return ranks < 2 ? null : <Line selected={selected} ranks={ranks} />;
}
