// Compilation: what was compiled, why again, where graphs break, and what the calls take.
import { useMemo, useState } from "preact/hooks";
import type { Compilation as Result, CompiledCode, GraphBreak, Overview } from "../../api/types";
import { count, duration, exactDuration } from "../../lib/format";
import { withoutFolders } from "../../lib/python-stack";
import { toInterval } from "../../state/links";
import type { Latest } from "../../state/use-result";
import { compilation as texts } from "../../i18n/compilation";
import { derived, field, worded, type Column } from "../../widgets/table/columns";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import { Table } from "../../widgets/table/table";
import { Card } from "../shared/card";
import { ShortSourceLink } from "../shared/source-link";
import "./compilation.css";

const heads = texts.columns;
const MOST_TABLE_ROWS = 10;

interface SectionProps {
  latest: Latest<Result>;
  base: Overview;
}

export function CompilationSection({ latest, base }: SectionProps) {
  return (
    <Card title={texts.title} lines={12} resource={latest}>
      {(result) => <Content result={result} end={base.duration_ns} isLate={latest.isStale} />}
    </Card>
  );
}

export function Content({ result, end, isLate }: { result: Result; end: number; isLate: boolean }) {
  const { logged, total_rows, recompilations, total_breaks } = result;
  return (
    <section data-testid="compilation" data-value={total_rows} aria-busy={isLate}>
      <h2>
        {texts.title}{" "}
        {logged && <small class="muted">{texts.note(total_rows, recompilations, total_breaks)}</small>}
      </h2>
      {logged ? (
        <Summary result={result} />
      ) : (
        <p class="muted" data-testid="compilation-no-log">
          {texts.noLog}
        </p>
      )}
      <Breaks result={result} />
      <Code result={result} end={end} />
      <Skips result={result} />
    </section>
  );
}

function Summary({ result }: { result: Result }) {
  const { phases } = texts;
  return (
    <>
      <p>
        {result.time_ns !== null && (
          <span title={exactDuration(result.time_ns)}>
            {texts.time(
              duration(result.time_ns),
              duration(result.inside_ns),
              result.provenance.window?.kind === "step",
            )}
          </span>
        )}{" "}
        {texts.caches(result.cache_hits, result.cache_misses, result.cache_bypasses)}
      </p>
      {result.failures > 0 && (
        <p class="warn" data-testid="compilation-failures" data-value={result.failures}>
          {texts.failures(result.failures)}
        </p>
      )}
      <table class="plain" data-testid="compile-phases">
        <HeadRow
          of={[phases.phase, numbers(phases.time.title, phases.time.help), numbers(phases.compilations)]}
        />
        <tbody>
          {result.phases.map((one) => (
            <tr key={one.phase} data-key={one.phase} data-value={one.time_ns}>
              <td class="wrap">{phases.names[one.phase]}</td>
              <td class="number" title={exactDuration(one.time_ns)}>
                {duration(one.time_ns)}
              </td>
              <td class="number">{count(one.compilations)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Breaks({ result: { graph_breaks, total_breaks } }: { result: Result }) {
  const { breaks } = texts;
  if (graph_breaks.length === 0) return null;
  return (
    <>
      <h3>{breaks.title(total_breaks)}</h3>
      <table class="plain" data-testid="graph-breaks">
        <HeadRow
          of={[
            breaks.place,
            breaks.function,
            { title: breaks.reason.title, help: breaks.reason.help },
            numbers(breaks.calls.title, breaks.calls.help),
          ]}
        />
        <tbody>
          {graph_breaks.map((one, i) => (
            <tr key={i} data-key={one.compile_id}>
              <td>
                <Place file={one.file} line={one.line} name={null} />
              </td>
              <td>
                <code>{one.function ?? one.compile_id}</code>
              </td>
              <td>
                <Reason {...one} />
              </td>
              <td class="number">{count(one.calls)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <LeftOut rows={total_breaks - graph_breaks.length} />
    </>
  );
}

/** Why a graph ends; torch's advice opens below it. */
function Reason({ reason, advice }: GraphBreak) {
  if (advice === null) return <>{reason}</>;
  return (
    <details>
      <summary>{reason}</summary>
      <p class="break-advice muted">{advice}</p>
    </details>
  );
}

/** How many rows the result does not have. */
function LeftOut({ rows }: { rows: number }) {
  if (rows <= 0) return null;
  return (
    <p class="muted" data-testid="left-out">
      {texts.leftOut(rows)}
    </p>
  );
}

interface PlaceProps {
  file: string | null;
  line: number | null;
  name: string | null;
}

/** A link to a line of the program, by a name or as file and line. */
function Place({ file, line, name }: PlaceProps) {
  if (file === null || line === null) return <>{name ?? "–"}</>;
  return <ShortSourceLink file={file} line={line} name={name ?? `${withoutFolders(file)}:${line}`} />;
}

/** The order is the table's own: that in the address is of the steps. */
function Code({ result: { rows, total_rows, logged }, end }: { result: Result; end: number }) {
  const [sort, setSort] = useState<string | null>(null);
  const [filter, setFilter] = useState<string | null>(null);
  const columns = useMemo(() => columnsOf(end), [end]);
  return (
    <>
      <div class="steptable compiled-code" style={{ "--rows": Math.min(MOST_TABLE_ROWS, rows.length + 2) }}>
        <Table
          name="compilation"
          {...texts.code}
          columns={columns}
          rows={rows}
          rowKey={(row) => row.compile_id + row.backward}
          sort={sort}
          filter={filter}
          onSort={setSort}
          onFilter={setFilter}
          defaultSort={logged ? "-total_ns" : "-call_ns"}
          hideUniform
        />
      </div>
      <LeftOut rows={total_rows - rows.length} />
    </>
  );
}

const columnsOf = (end: number): readonly Column<CompiledCode>[] => [
  derived("compile_id", heads.id, "text", 64, (row) => `${row.compile_id}${row.backward ? " ←" : ""}`, {
    full: (row) => (row.backward ? `${row.compile_id} ${texts.backward}` : row.compile_id),
  }),
  field("function", heads.function, "text", 150, {
    cell: (row) => <Place file={row.file} line={row.line} name={row.function} />,
  }),
  field("reason", heads.reason, "text", 230, {
    full: (row) => [row.reason, row.earlier].filter(Boolean).join("\n"),
  }),
  field("failure", heads.failure, "text", 160, { full: (row) => row.failure ?? "" }),
  field("total_ns", heads.total, "time", 112, { additive: true }),
  field("inside_ns", heads.inside, "time", 92, { additive: true }),
  field("dynamo_ns", heads.dynamo, "time", 92, { additive: true }),
  field("aot_ns", heads.aot, "time", 80, { additive: true }),
  field("inductor_ns", heads.inductor, "time", 96, { additive: true }),
  field("codegen_ns", heads.codegen, "time", 80, { additive: true }),
  worded("cache", heads.cache, 72, (row) => row.cache && texts.cached[row.cache]),
  field("guards", heads.guards, "count", 72, { optional: true }),
  field("operators", heads.operators, "count", 84, { optional: true }),
  field("breaks", heads.breaks, "count", 64, { additive: true }),
  field("calls", heads.calls, "count", 64, {
    additive: true,
    cell: (row) =>
      row.call_start_ns === null ? (
        count(row.calls)
      ) : (
        <a
          {...toInterval(row.call_start_ns, row.call_start_ns + firstCall(row), end)}
          data-testid="compilation-timeline"
        >
          {count(row.calls)}
        </a>
      ),
  }),
  field("call_ns", heads.call, "time", 84, { additive: true }),
  field("outside_ns", heads.outside, "time", 124, { additive: true }),
];

/** About how long the first call is: the mean of all. */
const firstCall = (row: CompiledCode): number => Math.max(1, Math.round(row.call_ns / row.calls));

function Skips({ result: { skips, total_skips } }: { result: Result }) {
  if (skips.length === 0) return null;
  return (
    <details>
      <summary data-testid="open-skips">{texts.skips(total_skips)}</summary>
      <ul data-testid="graph-skips">
        {skips.map(({ compile_id, reason }, i) => (
          <li key={i} data-key={compile_id}>
            {compile_id}: {reason}
          </li>
        ))}
      </ul>
      <LeftOut rows={total_skips - skips.length} />
    </details>
  );
}
