// The open point: its figures, its longest call, its source line, and the pages that have it.
import type { ComponentChildren } from "preact";
import type { RooflineRow } from "../../api/types";
import {
  boundOf,
  bytes,
  count,
  duration,
  durationLimits,
  percent,
  percentLimits,
  rate,
} from "../../lib/format";
import { quote } from "../../lib/filter";
import { linkProps } from "../../state/links";
import type { Selected } from "../../state/selection";
import { useView } from "../../state/use-result";
import { go } from "../../state/url";
import { t } from "../../i18n";
import { Show } from "../shared/load-states";
import { SourceLink } from "../shared/source-link";
import { titleOf, type By } from "./columns";
import { number, operations, perSecond } from "./points";

const texts = t.roofline;
const facts = texts.facts;

/** The figures of a point: its tooltip, and the first part of its details. */
export function PointFacts({ row }: { row: RooflineRow }) {
  const limits = row.device_bound_ns !== 0;
  return (
    <table>
      <tbody>
        <Fact label={facts.device}>
          {duration(row.device_ns)} {boundOf(row.device_bound_ns, true)} ({percent(row.share)})
        </Fact>
        <Fact label={facts.calls}>{count(row.calls)}</Fact>
        {row.tflop_per_s !== null && <Fact label={facts.flopRate}>{perSecond(row.tflop_per_s * 1e12)}</Fact>}
        {row.gb_per_s !== null && <Fact label={facts.byteRate}>{rate(row.gb_per_s * 1e9)}</Fact>}
        {row.flops_per_byte !== null && (
          <Fact label={facts.intensity}>{texts.perByte(number(row.flops_per_byte))}</Fact>
        )}
        {row.roof_share !== null && (
          <Fact label={facts.roofShare}>
            {percent(row.roof_share)} {limits && percentLimits(row.roof_share_low, row.roof_share_high)}
          </Fact>
        )}
        {row.above_roof_ns !== null && (
          <Fact label={facts.aboveRoof}>
            {duration(row.above_roof_ns)}{" "}
            {limits && durationLimits(row.above_roof_low_ns, row.above_roof_high_ns)}
          </Fact>
        )}
        {row.limit !== null && (
          <Fact label={facts.limit}>
            {texts.limits[row.limit]}
            {row.roof !== null && row.limit === "compute" && ` (${row.roof})`}
          </Fact>
        )}
        {row.flops !== null && (
          <Fact label={facts.work}>{texts.workOf(operations(row.flops), bytes(row.bytes))}</Fact>
        )}
        {row.unknown_ns > 0 && <Fact label={facts.unknown}>{duration(row.unknown_ns)}</Fact>}
      </tbody>
    </table>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <tr>
      <td>{label}</td>
      <td>{children}</td>
    </tr>
  );
}

interface PointDetailsProps {
  row: RooflineRow;
  by: By;
  selected: Selected;
}

export function PointDetails({ row, by, selected }: PointDetailsProps) {
  const links = useView("links", selected, { table: "kernels", index: row.longest_row }, null);
  return (
    <section
      class="pointdetails"
      data-testid="roofline-details"
      data-value={row.longest_row}
      aria-label={texts.detailsOf(titleOf(row))}
    >
      <button
        type="button"
        class="quiet push"
        data-testid="roofline-close"
        aria-label={texts.close}
        title={texts.close}
        onClick={() => go({ selected: null })}
      >
        ✕
      </button>
      <h2>{titleOf(row)}</h2>
      {row.input_shapes !== null && <p class="muted small wrap">{row.input_shapes}</p>}
      <PointFacts row={row} />
      <p class="ways">
        <a
          {...linkProps({ view: "timeline", item: `kernels:${row.longest_row}` })}
          data-testid="roofline-to-timeline"
          title={texts.toTimeline}
        >
          {texts.timeline}
        </a>
        {by !== "module" && <ToTable row={row} by={by} />}
        <a {...linkProps({ event: `kernels/${row.longest_row}` })} data-testid="roofline-to-record">
          {texts.record}
        </a>
      </p>
      <Show resource={links}>
        {({ source, operator, captured }) => (
          <>
            {(by === "module" || by === "kernel") && operator && (
              <p class="small">
                {texts.launchedBy}{" "}
                <a {...linkProps({ view: "operators", filter: `name = ${quote(operator.name)}` })}>
                  {operator.name}
                </a>
              </p>
            )}
            <div class="small" data-testid="roofline-source">
              {(source ?? captured?.source) ? (
                <SourceLink {...(source ?? captured?.source ?? { file: "", line: 0 })} />
              ) : (
                <span class="muted">{texts.noSource}</span>
              )}
            </div>
          </>
        )}
      </Show>
    </section>
  );
}

/** To the row of the operators or kernels page. */
function ToTable({ row, by }: { row: RooflineRow; by: By }) {
  const of =
    by === "kernel" || row.operator === null
      ? { view: "kernels", filter: `name = ${quote(row.name)}` }
      : {
          view: "operators",
          filter: `name = ${quote(row.operator)}`,
          ...(by === "shape" && { group: "shapes" }),
        };
  return (
    <a {...linkProps(of)} data-testid="roofline-to-table">
      {of.view === "kernels" ? texts.kernels : texts.operators}
    </a>
  );
}
