// The open point: its figures, its longest call, its source line, and the pages that have it.
import type { ComponentChildren } from "preact";
import type { Outlier, RooflineRow } from "../../api/types";
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
import { fullName } from "../../lib/full-name";
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
const { facts, columns: heads } = texts;

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
  return (
    <Details
      title={titleOf(row)}
      shapes={row.input_shapes}
      longest={row.longest_row}
      selected={selected}
      launcher={by === "module" || by === "kernel"}
      way={by !== "module" && <ToTable row={row} by={by} />}
    >
      <PointFacts row={row} />
    </Details>
  );
}

/** What speaks for an outlier, and what would refute it. */
export function OutlierDetails({ outlier: o, selected }: { outlier: Outlier; selected: Selected }) {
  return (
    <Details
      title={o.name || texts.device}
      shapes={o.input_shapes}
      longest={o.longest_row}
      selected={selected}
      launcher={o.kind === "kernel_slower"}
      way={o.kind === "shape" && <ToPoint outlier={o} />}
    >
      <p class="words">{o.evidence}</p>
      <p class="words muted">{o.check}</p>
      <table>
        <tbody>
          <Fact label={heads.kind.title}>{texts.kinds[o.kind].title}</Fact>
          <Fact label={heads.factor.title}>{texts.times(number(o.factor))}</Fact>
          <Fact label={heads.extra.title}>{duration(o.extra_ns)}</Fact>
          <Fact label={heads.median.title}>{duration(o.median_ns)}</Fact>
          <Fact label={heads.expected.title}>{duration(o.expected_ns)}</Fact>
          <Fact label={heads.calls.title}>{count(o.calls)}</Fact>
          {o.peer_kernel !== null && o.kernel !== o.peer_kernel && (
            <>
              <Fact label={heads.kernel.title}>{clamped(o.kernel)}</Fact>
              <Fact label={heads.peerKernel.title}>{clamped(o.peer_kernel)}</Fact>
            </>
          )}
        </tbody>
      </table>
    </Details>
  );
}

/** The first lines of a name, and all of it in the tooltip. */
const clamped = (name: string | null): ComponentChildren => (
  <span class="clamped" title={name ?? ""}>
    {name}
  </span>
);

/** To its point on the chart, and its row. */
function ToPoint({ outlier: { name, input_shapes: shapes } }: { outlier: Outlier }) {
  const filter = [`name=${quote(name)}`, ...(shapes === null ? [] : [`input_shapes=${quote(shapes)}`])];
  return (
    <a
      {...linkProps({ by: "shape", list: null, sort: null, selected: null, filter: filter.join(" ") })}
      data-testid="outlier-to-point"
    >
      {texts.toPoint}
    </a>
  );
}

interface DetailsProps {
  title: string;
  shapes: string | null;
  /** The longest activity: what the links are about. */
  longest: number;
  selected: Selected;
  /** Whether to name the operator that launched it. */
  launcher: boolean;
  /** One more link. */
  way: ComponentChildren;
  children: ComponentChildren;
}

function Details({ title, shapes, longest, selected, launcher, way, children }: DetailsProps) {
  return (
    <section
      class="pointdetails"
      data-testid="roofline-details"
      data-value={longest}
      aria-label={texts.detailsOf(title)}
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
      <h2 class="clamped" title={title}>
        {title}
      </h2>
      {shapes !== null && <p class="muted small wrap">{shapes}</p>}
      {children}
      <p class="ways">
        <a
          {...linkProps({ view: "timeline", item: `kernels:${longest}` })}
          data-testid="roofline-to-timeline"
          title={texts.toTimeline}
        >
          {texts.timeline}
        </a>
        {way}
        <a {...linkProps({ event: `kernels/${longest}` })} data-testid="roofline-to-record">
          {texts.record}
        </a>
      </p>
      <Origin longest={longest} selected={selected} launcher={launcher} />
    </section>
  );
}

/** The line of the program, and the operator, of an activity. */
function Origin({ longest, selected, launcher }: Pick<DetailsProps, "longest" | "selected" | "launcher">) {
  const links = useView("links", selected, { table: "kernels", index: longest }, null);
  return (
    <Show resource={links}>
      {({ source, operator, captured }) => {
        const line = source ?? captured?.source ?? null;
        return (
          <>
            {launcher && operator && (
              <p class="small">
                {texts.launchedBy}{" "}
                <a {...linkProps({ view: "operators", filter: `name = ${quote(operator.name)}` })}>
                  {operator.name}
                </a>
              </p>
            )}
            <div class="small" data-testid="roofline-source">
              {line ? <SourceLink {...line} /> : <span class="muted">{texts.noSource}</span>}
            </div>
          </>
        );
      }}
    </Show>
  );
}

/** To the row of the operators or kernels page. */
function ToTable({ row, by }: { row: RooflineRow; by: By }) {
  const of =
    by === "kernel" || row.operator === null
      ? { view: "kernels", filter: `name = ${quote(fullName(row))}` }
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
