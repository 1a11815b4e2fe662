// The open point: its figures, its longest call, its source line, and the pages that have it.
import type { ComponentChildren } from "preact";
import type { Outlier, RooflineRow } from "../../api/types";
import { categoryOf } from "../../lib/color";
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
import { go, state } from "../../state/url";
import { roofline } from "../../i18n/roofline";
import { Inspector } from "../../widgets/inspector/inspector";
import { Calls } from "../shared/inspector/calls";
import { One } from "../shared/inspector/one-call";
import { titleOf, type By } from "./columns";
import { number, operations, perSecond } from "./points";
import "./details.css";

const texts = roofline;
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
  /** The row of the selected step among the trace's steps; null for all. */
  step: number | null;
  inferred: boolean;
}

export function PointDetails({ row, by, selected, step, inferred }: PointDetailsProps) {
  const { longest_row: longest, kind } = row;
  return (
    <Details
      title={titleOf(row)}
      full={row.full_name}
      kind={texts.by[by]}
      shapes={row.input_shapes}
      longest={longest}
      way={by !== "module" && <ToTable row={row} by={by} />}
    >
      <PointFacts row={row} />
      {by === "kernel" ? (
        <Calls
          of={{ view: "kernel_instances", index: longest, group: "name" }}
          category={categoryOf(kind)}
          name={row.name}
          {...{ selected, step, inferred }}
        />
      ) : (
        <One index={longest} table="kernels" title={texts.longest} selected={selected} />
      )}
    </Details>
  );
}

/** What speaks for an outlier, and what would refute it. */
export function OutlierDetails({ outlier: o, selected }: { outlier: Outlier; selected: Selected }) {
  return (
    <Details
      title={o.name || texts.device}
      full={null}
      kind={heads.kind.title}
      shapes={o.input_shapes}
      longest={o.longest_row}
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
      <One index={o.longest_row} table="kernels" title={texts.longest} selected={selected} />
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
  full: string | null;
  kind: string;
  shapes: string | null;
  /** The longest activity, for tests. */
  longest: number;
  /** To its row elsewhere. */
  way: ComponentChildren;
  children: ComponentChildren;
}

function Details({ title, full, kind, shapes, longest, way, children }: DetailsProps) {
  return (
    <Inspector
      testid="roofline-details"
      value={longest}
      label={texts.detailsOf(title)}
      kind={kind}
      covered={state.value.event !== null}
      close={() => go({ selected: null })}
    >
      <h2 class="wrap">{title}</h2>
      {full !== null && full !== title && <p class="muted small wrap full">{full}</p>}
      {shapes !== null && <p class="muted small wrap">{shapes}</p>}
      {way && <p class="ways">{way}</p>}
      <div class="pointdetails">{children}</div>
    </Inspector>
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
