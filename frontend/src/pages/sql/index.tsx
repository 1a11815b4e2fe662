// The SQL page: an editor, the tables, the rows. The query is part of the link.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { TABLES, type Extras, type SqlResult } from "../../api/types";
import { inLink } from "../../state/table-columns";
import { asFailure, fetchExtras, type Failure } from "../../api/client";
import { useSql } from "../../state/use-result";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { columnMeaning } from "../../i18n/column-meanings";
import { CodeBlock } from "../../widgets/controls/code-block";
import { ColumnMemoryContext } from "../../widgets/table/column-chooser";
import type { Column, Value } from "../../widgets/table/columns";
import { WindowContext } from "../../widgets/window-context";
import { Table } from "../../widgets/table/table";
import type { PageProps } from "../page-props";
import { Problem, Show } from "../shared/load-states";
import "./sql.css";

const texts = t.sql;

const EXAMPLES: readonly { title: string; query: string }[] = [
  {
    title: texts.examples.kernels,
    query: `select name, count(*) as calls, sum(duration_ns) as total_ns
from kernels group by name order by total_ns desc`,
  },
  {
    title: texts.examples.operators,
    query: `select o.name, count(*) as kernels, sum(k.duration_ns) as device_ns
from kernels k join ops o on k.op = o.row
group by o.name order by device_ns desc`,
  },
  {
    title: texts.examples.waiting,
    query: `select k.name, avg(k.start_ns - l.end_ns) as waited_ns
from kernels k join launches l on k.launch = l.row
group by k.name order by waited_ns desc`,
  },
  {
    title: texts.examples.evidence,
    query: `select evidence, count(*) as kernels, max(start_bound_ns) as worst_start_ns,
  max(duration_bound_ns) as worst_duration_ns
from kernels group by evidence`,
  },
];

type Row = { index: number; cells: SqlResult["rows"][number] };

export function Sql({ selected }: PageProps) {
  const [extras, setExtras] = useState<Extras | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const ending = new AbortController();
    setFailure(null);
    fetchExtras({ signal: ending.signal }).then(setExtras, (error: unknown) => {
      if (!ending.signal.aborted) setFailure(asFailure(error));
    });
    return () => ending.abort();
  }, [attempt]);
  if (failure) return <Problem failure={failure} retry={() => setAttempt(attempt + 1)} />;
  if (!extras) return null;
  if (!extras.sql_allowed)
    return (
      <section class="state" data-testid="sql-off">
        <h2>{texts.off}</h2>
        <p>{texts.offWhy}</p>
        <CodeBlock text="TB_PRIVATEUSE1_SQL=on tensorboard --logdir …" />
        <p>{texts.orAsk}</p>
        <CodeBlock text={'tb-privateuse1 sql LOGDIR "from steps"'} />
      </section>
    );
  if (!extras.sql_installed)
    return (
      <section class="state" data-testid="sql-missing">
        <h2>{texts.missing}</h2>
        <p>{texts.missingWhere}</p>
        <CodeBlock text="pip install 'tb-privateuse1[sql]'" />
      </section>
    );
  return <Page selected={selected} />;
}

function Page({ selected }: Pick<PageProps, "selected">) {
  const asked = state.value.sql;
  const [text, setText] = useState(asked ?? EXAMPLES[0]?.query ?? "");
  const editor = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (asked !== null) setText(asked);
  }, [asked]);
  const ask = (query: string): void => {
    setText(query);
    if (query.trim()) go({ sql: query, sort: null, filter: null, columns: null });
  };
  const insert = (word: string): void => {
    const box = editor.current;
    if (!box) return;
    box.focus();
    box.setRangeText(word, box.selectionStart, box.selectionEnd, "end");
    setText(box.value);
  };
  return (
    <div class="sql fill">
      <div class="sqlask">
        <div>
          <label class="muted" for="sql-text">
            {texts.queryOf(selected.place.run, selected.place.rank)}
          </label>
          <textarea
            id="sql-text"
            ref={editor}
            data-testid="sql-text"
            spellcheck={false}
            rows={6}
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
                e.preventDefault();
                ask(text);
              }
            }}
          />
          <div class="toolbar">
            <button type="button" data-testid="sql-run" title={texts.runHelp} onClick={() => ask(text)}>
              {texts.run}
            </button>
            <Examples ask={ask} />
          </div>
        </div>
        <Tables insert={insert} />
      </div>
      {asked === null ? (
        <p class="muted" data-testid="sql-empty">
          {texts.nothingYet}
        </p>
      ) : (
        <Answer key={asked} selected={selected} query={asked} />
      )}
    </div>
  );
}

function Examples({ ask }: { ask: (query: string) => void }) {
  return (
    <>
      {EXAMPLES.map((example) => (
        <button key={example.title} type="button" class="link" onClick={() => ask(example.query)}>
          {example.title}
        </button>
      ))}
    </>
  );
}

function Tables({ insert }: { insert: (word: string) => void }) {
  return (
    <div class="sqltables" data-testid="sql-tables" role="group" aria-label={texts.tables}>
      {Object.entries(TABLES).map(([table, columns]) => (
        <details key={table}>
          <summary>
            <b>{table}</b> <span class="muted">{texts.columns(columns.length)}</span>
          </summary>
          {columns.map(([name = "", kind, meaning]) => (
            <div key={name}>
              <button
                type="button"
                class="link"
                title={texts.insert(name)}
                data-column={`${table}.${name}`}
                onClick={() => insert(name)}
              >
                {name}
              </button>{" "}
              <span class="muted">
                {kind} · {columnMeaning(meaning ?? "")}
              </span>
            </div>
          ))}
        </details>
      ))}
    </div>
  );
}

function Answer({ selected, query }: { selected: PageProps["selected"]; query: string }) {
  // A query reads the whole recording.
  return (
    <WindowContext.Provider value={{}}>
      <Show resource={useSql(selected, query)}>{(result) => <Rows result={result} />}</Show>
    </WindowContext.Provider>
  );
}

function Rows({ result }: { result: SqlResult }) {
  const rows = useMemo<Row[]>(() => result.rows.map((cells, index) => ({ index, cells })), [result]);
  const columns = useMemo(() => columnsOf(result), [result]);
  const { sort, filter } = state.value;
  // Another query has other columns, even where their names are the same: the choice is this link's.
  return (
    <ColumnMemoryContext.Provider value={inLink}>
      <Table
        name="sql"
        {...texts.row}
        columns={columns}
        rows={rows}
        rowKey={(row) => String(row.index)}
        sort={sort}
        defaultSort=""
        filter={filter}
        onSort={(next) => go({ sort: next }, "replace")}
        onFilter={(next) => go({ filter: next }, "replace")}
      >
        <span class="muted" data-testid="sql-took">
          {result.cut
            ? texts.firstRows(result.rows.length, Math.round(result.elapsed_ms))
            : texts.took(Math.round(result.elapsed_ms))}
        </span>
      </Table>
    </ColumnMemoryContext.Provider>
  );
}

/** Times and sizes by their names' ends, as everywhere; a name that is none or taken gets a number. */
function columnsOf(result: SqlResult): Column<Row>[] {
  const taken = new Set<string>();
  return result.columns.map(({ name, type }, at): Column<Row> => {
    const values = result.rows.map((row) => plain(row[at] ?? null, type));
    const numeric = values.some((value) => typeof value === "number" || typeof value === "bigint");
    const key = /^[A-Za-z_]\w*$/.test(name) && !taken.has(name) ? name : `column${at + 1}`;
    taken.add(key);
    const whole = values.every(
      (value) => value === null || typeof value === "bigint" || Number.isInteger(value),
    );
    const kind = !numeric
      ? "text"
      : name.endsWith("_ns")
        ? "time"
        : name.endsWith("bytes")
          ? "bytes"
          : "count";
    return {
      key,
      title: name,
      help: type,
      kind,
      width: kind === "text" ? 260 : values.some((value) => typeof value === "bigint") ? 200 : 120,
      value: (row) => values[row.index] ?? null,
      ...(kind === "count" && !whole && { cell: (row: Row) => String(row.cells[at] ?? "") }),
    };
  });
}

const WHOLE = /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL)\b/;

/** What is text only because no double holds it is a number here, with all its digits. */
function plain(value: Row["cells"][number], type: string): Value {
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" && WHOLE.test(type) && /^-?\d+$/.test(value) ? BigInt(value) : value;
}
