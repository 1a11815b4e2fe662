// Collapsed stacks, the format of flamegraph.pl and speedscope.
import type { FlameNode } from "../../api/types";
import { fullName } from "../../lib/full-name";

/** A line per stack: names from the outermost on, and the ns that are the last one's own. */
export function collapsed(rows: readonly FlameNode[], above: readonly string[]): string {
  const lines: string[] = [];
  const paths: string[] = [];
  const plain = (name: string): string => name.replace(/[;\s]+/g, " ");
  const prefix = above.slice(0, -1).map(plain);
  rows.forEach((row, i) => {
    const path = [...(row.parent === null ? prefix : [paths[row.parent] ?? ""]), plain(fullName(row))].join(
      ";",
    );
    paths[i] = path;
    const own = row.self_ns + row.merged_ns;
    if (own > 0) lines.push(`${path} ${own}`);
  });
  return `${lines.join("\n")}\n`;
}
