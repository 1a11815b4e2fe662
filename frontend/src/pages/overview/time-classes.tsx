// The classes of time in groups; a row opens to its names and its longest stretches.
import { useId, useState } from "preact/hooks";
import type { ClassTime } from "../../api/types";
import { classColor } from "../../lib/class-color";
import { count, duration, exactDuration, percent } from "../../lib/format";
import { stretch } from "../../state/links";
import { t } from "../../i18n";
import { shareRange, timeRange, type ClassGroup } from "./account-limits";
import { ClassDetails } from "./class-details";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import "../../widgets/table/tree-toggle.css";
import "./time-classes.css";

const texts = t.timeAccount;

interface TimeClassesProps {
  groups: readonly ClassGroup[];
  window: number;
  /** The end of the recording. */
  end: number;
}

export function TimeClasses({ groups, window, end }: TimeClassesProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const inferred = groups.some(uncertain);
  const turn = (name: string): void => {
    const next = new Set(open);
    if (!next.delete(name)) next.add(name);
    setOpen(next);
  };
  return (
    <table class="plain time-classes" data-testid="account-classes">
      <Heads inferred={inferred} />
      {groups.map((g) => (
        <tbody key={g.group}>
          <tr class="group" data-group={g.group} data-value={g.ns}>
            <th scope="rowgroup">{texts.groups[g.group]}</th>
            <td {...numberOf(uncertain(g))}>{duration(g.ns)}</td>
            <td {...numberOf(uncertain(g))}>{percent(g.ns / window)}</td>
            <td colSpan={inferred ? 3 : 2} />
          </tr>
          {g.classes.map((c) => (
            <Row
              key={c.name}
              {...{ window, end, inferred }}
              time={c}
              open={open.has(c.name)}
              onTurn={() => turn(c.name)}
            />
          ))}
        </tbody>
      ))}
    </table>
  );
}

const uncertain = ({ classes }: ClassGroup): boolean => classes.some((c) => c.bound_ns !== 0);
const numberOf = (uncertain: boolean) => ({ class: uncertain ? "number uncertain" : "number" });

function Heads({ inferred }: { inferred: boolean }) {
  return (
    <HeadRow
      of={[
        texts.class,
        numbers(texts.time),
        numbers(texts.ofWindow, texts.ofWindowHelp),
        inferred && numbers(texts.range, texts.rangeHelp),
        numbers(texts.stretches, texts.stretchesHelp),
        numbers(texts.longest, texts.longestHelp),
      ]}
    />
  );
}

interface RowProps {
  time: ClassTime;
  window: number;
  end: number;
  inferred: boolean;
  open: boolean;
  onTurn: () => void;
}

function Row({ time: c, window, end, inferred, open, onTurn }: RowProps) {
  const id = useId();
  const off = c.bound_ns !== 0;
  const longest = c.largest[0];
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
        {inferred && <td class="number muted range">{shareRange(c.ns, c.bound_ns, window)}</td>}
        <td class="number">{count(c.stretches)}</td>
        <td class="number">
          {longest && (
            <a
              {...stretch(longest.start_ns, longest.start_ns + longest.duration_ns, end)}
              data-testid={`account-to-${c.name}`}
              title={texts.longestHelp}
            >
              {duration(longest.duration_ns)}
            </a>
          )}
        </td>
      </tr>
      <tr id={id} class="opened" hidden={!open}>
        {open && (
          <td colSpan={inferred ? 6 : 5} data-testid={`account-details-${c.name}`}>
            <ClassDetails time={c} end={end} />
          </td>
        )}
      </tr>
    </>
  );
}
