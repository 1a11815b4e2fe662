// A frame between its callers, which grow upward, and its callees, merged over all places.
import { useMemo } from "preact/hooks";
import type { Flame, FlameNode } from "../../api/types";
import { duration } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { FlameGraph } from "../../widgets/flamegraph/flamegraph";
import { boxOf } from "../shared/flame-boxes";
import "./sandwich.css";

const texts = t.flame;

interface SandwichProps {
  result: Flame;
  search: string;
  inferred: boolean;
  onLook: (row: FlameNode | null) => void;
  onCanvas: (canvas: HTMLCanvasElement | null) => void;
}

export function Sandwich({ result, onCanvas, ...shared }: SandwichProps) {
  const [frame] = result.rows;
  return (
    <div
      class="sandwich"
      data-testid="sandwich"
      data-name={frame ? fullName(frame) : ""}
      data-value={frame?.total_ns ?? ""}
    >
      <h2>
        {texts.callers} <small class="muted">{texts.callersNote(result.callers.length - 1)}</small>
      </h2>
      <Half {...shared} rows={result.callers} total={result.total_ns ?? 0} by={result.by} upward />
      <h2>
        {frame?.name}{" "}
        <small class="muted">{texts.calleesNote(duration(result.total_ns), frame?.calls ?? 0)}</small>
      </h2>
      <Half {...shared} rows={result.rows} total={result.total_ns ?? 0} by={result.by} onCanvas={onCanvas} />
    </div>
  );
}

interface HalfProps extends Omit<SandwichProps, "result" | "onCanvas"> {
  rows: readonly FlameNode[];
  total: number;
  by: Flame["by"];
  upward?: boolean;
  onCanvas?: (canvas: HTMLCanvasElement | null) => void;
}

function Half({ rows, total, by, search, inferred, upward = false, onLook, onCanvas }: HalfProps) {
  const boxes = useMemo(() => rows.map((r) => boxOf(r, inferred)), [rows, inferred]);
  return (
    <FlameGraph
      boxes={boxes}
      total={total}
      search={search}
      upward={upward}
      testid={upward ? "flamegraph-callers" : "flamegraph"}
      onLook={(i) => onLook(i === null ? null : (rows[i] ?? null))}
      // Any box becomes the next one in the middle.
      onZoom={(i) => rows[i] && go({ frame: fullName(rows[i]) })}
      onOut={() => go({ frame: null })}
      onCanvas={(canvas) => onCanvas?.(canvas)}
      label={upward ? texts.callersLabel(rows.length) : texts.label(by, rows.length)}
    />
  );
}
