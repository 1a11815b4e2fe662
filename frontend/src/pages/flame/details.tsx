// What the box under the pointer is; said aloud as well.
import type { Flame, FlameNode } from "../../api/types";
import { boundOf, duration, exactDuration, percent } from "../../lib/format";
import { fullName } from "../../lib/full-name";
import { linkProps, toOperator } from "../../state/links";
import { state } from "../../state/url";
import { t } from "../../i18n";
import { setIgnored, withPattern, type Ignored } from "../shared/flame-controls";
import { colorOf, isOnHost } from "../shared/flame-boxes";
import { KINDS } from "../shared/flame-rows";

const texts = t.flame;

interface DetailsProps {
  result: Flame;
  /** Null: the whole graph. */
  row: FlameNode | null;
  inferred: boolean;
  ignored: Ignored;
  /** What the shares in the boxes are of. */
  window: string;
}

export function Details({ result, row, inferred, ignored, window }: DetailsProps) {
  const { nodes, rows, by } = result;
  if (!row)
    return (
      <div class="flame-details muted" role="status" data-testid="flame-details">
        {texts.whole(by, duration(result.total_ns), nodes, nodes - rows.length)} {texts.sharesOf(window)}
      </div>
    );
  const share = result.total_ns ? row.total_ns / result.total_ns : 0;
  return (
    <div
      class="flame-details"
      role="status"
      data-testid="flame-details"
      data-value={row.total_ns}
      data-name={fullName(row)}
      data-share={row.window_share ?? ""}
    >
      <i class={inferred ? "swatch inferred" : "swatch"} style={{ "--fill": `var(${colorOf(row.kind)})` }} />
      <b title={fullName(row)}>{row.name}</b> <span class="muted">{KINDS[row.kind] ?? row.kind}</span>{" "}
      {texts.times(
        <span title={exactDuration(row.total_ns)}>
          {duration(row.total_ns)}
          {inferred && ` ${boundOf(row.bound_ns, true)}`}
        </span>,
        percent(share),
        <span title={exactDuration(row.self_ns)}>{duration(row.self_ns)}</span>,
        row.calls,
      )}
      {row.window_share !== null && texts.windowShare(percent(row.window_share), window)}
      {row.merged > 0 && <span class="muted">{texts.merged(row.merged, duration(row.merged_ns))}</span>}
      <Ways row={row} ignored={ignored} />
    </div>
  );
}

function Ways({ row, ignored }: { row: FlameNode; ignored: Ignored }) {
  const grouped = row.kind !== "none" && row.kind !== "ignored";
  return (
    <>
      {row.kind === "operator" && (
        <>
          {" "}
          · <a {...toOperator(row.name)}>{texts.toOperator}</a>
        </>
      )}
      {grouped && state.value.frame !== fullName(row) && (
        <>
          {" "}
          ·{" "}
          <a
            {...linkProps({ frame: fullName(row), tree: null, zoom: null })}
            data-testid="to-sandwich"
            title={texts.sandwich.title}
          >
            {texts.toSandwich}
          </a>
        </>
      )}
      {grouped && isOnHost(row.kind) && (
        <>
          {" "}
          ·{" "}
          <button
            type="button"
            class="link"
            data-testid="ignore-this"
            onClick={() => setIgnored(withPattern(ignored, row.name, row.kind))}
          >
            {texts.ignoreThis(withPattern({ libraries: false, patterns: "" }, row.name, row.kind).patterns)}
          </button>
        </>
      )}
    </>
  );
}
