// An event that something is said about, with the way to its record.
import type { Example } from "../api";
import { duration, exactDuration } from "../base/format";
import { linkProps } from "./link";

export function Instance({ example }: { example: Example }) {
  return (
    <>
      <a {...linkProps({ event: `${example.table}/${example.row}` })} data-testid="example" data-event={`${example.table}/${example.row}`}
        title={`${example.name}\n${example.thread}\n${exactDuration(example.start_ns)} after the recording's start\nShow its record`}>{example.name || "(no name)"}</a>
      {" "}<span class="muted small">{example.thread}, at {duration(example.start_ns)}{example.note && `, ${example.note}`}</span>
    </>
  );
}
