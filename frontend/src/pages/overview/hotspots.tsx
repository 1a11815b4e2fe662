// Where the time of the step goes: by operator, kernel, module class, function or annotation.
import type { Hotspot, Hotspots as Result, Options } from "../../api/types";
import { categoryOf, type Category } from "../../lib/color";
import { quote } from "../../lib/filter";
import { duration, percent } from "../../lib/format";
import { frameOf, withoutFolders } from "../../lib/python-stack";
import { linkProps, type LinkProps, toOperator } from "../../state/links";
import type { Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { traceOf, useLatest, useView } from "../../state/use-result";
import { t } from "../../i18n";
import { Bars, type BarRow } from "../../widgets/charts/bars";
import { Segmented } from "../../widgets/controls/segmented";
import { Card } from "../shared/card";
import { TitleLink } from "../shared/source-link";
import "./hotspots.css";

const texts = t.hotspots;

export type By = NonNullable<Options["hotspots"]["by"]>;
const BY: readonly By[] = ["operator", "kernel", "module", "function", "annotation"];

/** The name of functions in links of version 0.1. */
const FORMER = "line";

export function Hotspots({ selected }: { selected: Selected }) {
  const by =
    BY.find((one) => one === (state.value.by === FORMER ? "function" : state.value.by)) ?? "operator";
  const latest = useLatest(useView("hotspots", selected, { by }), traceOf(selected.place));
  return (
    <Card title={texts.title} lines={12} resource={latest}>
      {(result) => <Content result={result} by={by} isLate={latest.isStale} />}
    </Card>
  );
}

function Content({ result, by, isLate }: { result: Result; by: By; isLate: boolean }) {
  return (
    <section data-testid="hotspots" data-value={result.step_ns} data-key={by} aria-busy={isLate}>
      <h2>
        {texts.title} <small class="muted">{measureOf(result)}</small>
      </h2>
      <div class="toolbar">
        <Segmented
          label={texts.by}
          value={by}
          onPick={(value) => go({ by: value === "operator" ? null : value }, "replace")}
          choices={result.groups.map((value) => ({ value, ...texts.groups[value] }))}
        />
      </div>
      <HotspotRows result={result} by={by} />
    </section>
  );
}

/** Whose time it is, and what the shares are of. */
export function measureOf({ measure, window_ns }: Result): string {
  return texts.note[measure](duration(window_ns));
}

/** The rows, and how many more there are. */
export function HotspotRows({ result, by }: { result: Result; by: By }) {
  const { rows, others } = result;
  return (
    <>
      {rows.length === 0 ? (
        <p class="muted">{texts.none}</p>
      ) : (
        <Bars testid="hotspot-rows" rows={barsOf(result, by)} />
      )}
      {others !== null && (
        <p class="muted small" data-testid="hotspot-others" data-value={others.step_ns}>
          {texts.others(others.rows, percent(others.share))}
        </p>
      )}
    </>
  );
}

/** Bars in the scale of the largest, numbers as they are. */
function barsOf({ rows, measure, provenance }: Result, by: By): BarRow[] {
  const largest = Math.max(0, ...rows.map((row) => row.share ?? 0));
  const hasDetail = rows.some((row) => row.operator !== null || row.function !== null);
  return rows.map((row) => ({
    key: keyOf(row),
    label: labelOf(row, by),
    ns: row.step_ns,
    bound: row.bound_ns,
    share: row.share !== null && largest > 0 ? row.share / largest : null,
    title: texts.events(fullNameOf(row, by), row.events, measure),
    category: categoryFor(row, measure),
    inferred: provenance.timeline === "inferred" && measure === "device",
    note: percent(row.share),
    ...(hasDetail && { detail: <Launched row={row} /> }),
    ...linkOf(row, by),
  }));
}

/** Of a kernel its operator, and the function of the program with most of the row's time. */
function Launched({ row: { operator, function: name, function_share: share } }: { row: Hotspot }) {
  return (
    <span
      class="hotspot-launched"
      data-testid="hotspot-launched"
      data-operator={operator ?? ""}
      data-function={name ?? ""}
    >
      {operator && <span title={operator}>{operator}</span>}
      {name && (
        <span title={texts.functionShare(percent(share))}>
          <TitleLink title={name} />
        </span>
      )}
      {name && (share ?? 0) < MOST && <span>{texts.otherFunctions}</span>}
    </span>
  );
}

/** A function with less of a row's time is not its only one. */
const MOST = 0.95;

const keyOf = ({ name, full_name: full, launcher, kind }: Hotspot): string =>
  `${kind} ${full ?? name ?? ""} ${launcher ?? ""}`.trim();

const fullNameOf = (row: Hotspot, by: By): string => row.full_name ?? row.name ?? noName(row, by);

const labelOf = (row: Hotspot, by: By): string =>
  row.name === null ? noName(row, by) : by === "function" ? withoutFolders(row.name) : row.name;

const noName = ({ launcher }: Hotspot, by: By): string => launcher ?? texts.groups[by].without;

const categoryFor = ({ kind, name }: Hotspot, measure: Result["measure"]): Category =>
  name === null ? "other" : measure === "host" ? "cpu" : categoryOf(kind === "function" ? "operator" : kind);

/** The page that has more of a row. */
function linkOf({ name, full_name: full, launcher }: Hotspot, by: By): LinkProps | object {
  if (name === null || launcher !== null) return {};
  switch (by) {
    case "operator":
      return toOperator(name);
    case "kernel":
      return linkProps({ view: "kernels", filter: `name = ${quote(full ?? name)}` });
    case "module":
      return linkProps({ view: "operators", group: "module", filter: `module = ${quote(name)}` });
    case "function":
      return linkProps({ view: "operators", group: "stack", filter: quote(frameOf(name)) });
    case "annotation":
      return linkProps({ view: "flame", filter: name });
  }
}
