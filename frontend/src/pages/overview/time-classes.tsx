// The classes of time in groups; a row opens to its names and its longest intervals.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { ClassTime, PathClass } from "../../api/types";
import { classColor } from "../../lib/class-color";
import { count, duration, exactDuration, percent } from "../../lib/format";
import { toInterval } from "../../state/links";
import { t } from "../../i18n";
import { shareRange, timeRange, type ClassGroup } from "./account-limits";
import { ClassDetails } from "./class-details";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import "../../widgets/table/tree-toggle.css";
import "./time-classes.css";

const texts = t.timeAccount;

/** What a replay of the steps adds to the account. */
export interface Replayed {
  /** Each class's part of the critical path; null while it is not known. */
  path?: ReadonlyMap<ClassTime["name"], PathClass> | null;
  /** The step without a class, in its details. */
  tried?: ((name: ClassTime["name"]) => ComponentChildren) | undefined;
}

/** Classes with less of the window are folded: tables of engineers leave out what is below a per cent. */
const LEAST_SHARE = 0.01;

interface TimeClassesProps extends Replayed {
  groups: readonly ClassGroup[];
  window: number;
  /** The end of the recording. */
  end: number;
}

export function TimeClasses({ groups, window, end, path = null, tried }: TimeClassesProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [isWhole, setWhole] = useState(false);
  const small = groups.flatMap((g) => g.classes).filter((c) => isSmall(c, window));
  const shown = isWhole || small.length < 2 ? groups : without(groups, new Set(small));
  const inferred = groups.some(uncertain);
  const columns = 5 + Number(inferred) + Number(path !== null);
  const turn = (name: string): void => {
    const next = new Set(open);
    if (!next.delete(name)) next.add(name);
    setOpen(next);
  };
  return (
    <table class="plain time-classes" data-testid="account-classes">
      <Heads inferred={inferred} path={path !== null} />
      {shown.map((g) => (
        <tbody key={g.group}>
          <tr class="group" data-group={g.group} data-value={g.ns}>
            <th scope="rowgroup">{texts.groups[g.group]}</th>
            <td {...numberOf(uncertain(g))}>{duration(g.ns)}</td>
            <td {...numberOf(uncertain(g))}>{percent(g.ns / window)}</td>
            <td colSpan={columns - 3} />
          </tr>
          {g.classes.map((c) => (
            <Row
              key={c.name}
              {...{ window, end, inferred, path, tried, columns }}
              time={c}
              open={open.has(c.name)}
              onTurn={() => turn(c.name)}
            />
          ))}
        </tbody>
      ))}
      {small.length > 1 && (
        <tbody>
          <tr>
            <td colSpan={columns}>
              <button
                type="button"
                class="link"
                aria-expanded={isWhole}
                data-testid="account-small"
                data-value={small.length}
                onClick={() => setWhole(!isWhole)}
              >
                {isWhole ? texts.fold : texts.small(small.length, percent(sumOf(small) / window))}
              </button>
            </td>
          </tr>
        </tbody>
      )}
    </table>
  );
}

/** A class that may be more than little is not: its bound counts. */
const isSmall = ({ ns, bound_ns: bound }: ClassTime, window: number): boolean =>
  bound !== null && (ns + bound) / window < LEAST_SHARE;

const sumOf = (classes: readonly ClassTime[]): number => classes.reduce((sum, c) => sum + c.ns, 0);

const without = (groups: readonly ClassGroup[], left: ReadonlySet<ClassTime>): ClassGroup[] =>
  groups
    .map((g) => ({ ...g, classes: g.classes.filter((c) => !left.has(c)) }))
    .filter((g) => g.classes.length > 0);

const uncertain = ({ classes }: ClassGroup): boolean => classes.some((c) => c.bound_ns !== 0);
const numberOf = (uncertain: boolean) => ({ class: uncertain ? "number uncertain" : "number" });

function Heads({ inferred, path }: { inferred: boolean; path: boolean }) {
  return (
    <HeadRow
      of={[
        texts.class,
        numbers(texts.time),
        numbers(texts.ofWindow, texts.ofWindowHelp),
        inferred && numbers(texts.range, texts.rangeHelp),
        path && numbers(texts.onPath, texts.onPathHelp),
        numbers(texts.stretches, texts.stretchesHelp),
        numbers(texts.longest, texts.longestHelp),
      ]}
    />
  );
}

interface RowProps extends Replayed {
  time: ClassTime;
  columns: number;
  window: number;
  end: number;
  inferred: boolean;
  open: boolean;
  onTurn: () => void;
}

function Row({ time: c, window, end, inferred, path = null, tried, columns, open, onTurn }: RowProps) {
  const id = useId();
  const off = c.bound_ns !== 0;
  return (
    <>
      <tr data-key={c.name} data-value={c.ns} data-bound={c.bound_ns ?? "unknown"}>
        <td title={c.meaning}>
          <button
            type="button"
            class="expander"
            aria-expanded={open}
            aria-controls={id}
            data-testid={`account-open-${c.name}`}
            onClick={onTurn}
          >
            <span class="tree-toggle" aria-hidden="true">
              {open ? "▾" : "▸"}
            </span>
            <i class={`swatch ${off ? "inferred" : "measured"}`} style={{ "--fill": classColor(c.name) }} />
            {c.label}
          </button>
        </td>
        <td
          {...numberOf(off)}
          title={texts.exactly(exactDuration(c.ns), timeRange(c.ns, c.bound_ns, window))}
        >
          {duration(c.ns)}
        </td>
        <td {...numberOf(off)}>{percent(c.share)}</td>
        <Further time={c} {...{ window, end, inferred, path }} />
      </tr>
      <tr id={id} class="opened" hidden={!open}>
        {open && (
          <td colSpan={columns} data-testid={`account-details-${c.name}`}>
            {tried?.(c.name)}
            <ClassDetails time={c} end={end} />
          </td>
        )}
      </tr>
    </>
  );
}

/** The range of an inferred class, its part of the critical path, and its intervals. */
function Further({ time: c, window, end, inferred, path }: Omit<RowProps, "open" | "onTurn" | "columns">) {
  const onPath = path?.get(c.name);
  const longest = c.largest[0];
  return (
    <>
      {inferred && <td class="number muted range">{shareRange(c.ns, c.bound_ns, window)}</td>}
      {path && (
        <td
          class="number"
          title={exactDuration(onPath?.path_ns ?? 0)}
          data-testid={`account-path-${c.name}`}
          data-value={onPath?.path_ns ?? 0}
        >
          {onPath ? percent(onPath.share) : "–"}
        </td>
      )}
      <td class="number">{count(c.stretches)}</td>
      <td class="number">
        {longest && (
          <a
            {...toInterval(longest.start_ns, longest.start_ns + longest.duration_ns, end)}
            data-testid={`account-to-${c.name}`}
            title={texts.longestHelp}
          >
            {duration(longest.duration_ns)}
          </a>
        )}
      </td>
    </>
  );
}
