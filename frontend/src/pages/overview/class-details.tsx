// What a class of time consists of: its names, and its longest intervals.
import type { ClassTime, AccountPart, LargestInterval } from "../../api/types";
import { quote } from "../../lib/filter";
import { duration, exactDuration, percent } from "../../lib/format";
import { withoutFolders } from "../../lib/python-stack";
import { linkProps, toInterval, type LinkProps } from "../../state/links";
import { t } from "../../i18n";
import { FunctionLink } from "../shared/source-link";
import { HeadRow, numbers } from "../../widgets/table/head-row";
import "./class-details.css";

const texts = t.timeAccount;

export function ClassDetails({ time, end }: { time: ClassTime; end: number }) {
  return (
    <div class="classdetails">
      {time.parts.length > 0 && <Parts time={time} />}
      {time.largest.length > 0 && <Largest time={time} end={end} />}
    </div>
  );
}

function Parts({ time }: { time: ClassTime }) {
  return (
    <table class="plain">
      <HeadRow of={[texts.names, numbers(texts.time), numbers(texts.ofWindow, texts.ofWindowHelp)]} />
      <tbody>
        {time.parts.map((p) => {
          const link = linkOf(p, time);
          return (
            <tr key={p.name} data-part={p.name} data-value={p.ns}>
              <td class="name" title={p.name}>
                {link ? <a {...link}>{p.name}</a> : withoutFolders(p.name)}
              </td>
              <td class="number" title={exactDuration(p.ns)}>
                {duration(p.ns)}
              </td>
              <td class="number">{percent(p.share)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The page that has more of a name, if one has: kernels by kind of work, operators and kernels by name.
 * Python's names are those of frames and annotations, which have none. */
function linkOf({ name }: AccountPart, { name: of, largest }: ClassTime): LinkProps | null {
  if (of === "kernel") return linkProps({ view: "operators", filter: `category = ${quote(name)}` });
  if (of === "python") return null;
  const tables = [...new Set(largest.flatMap((s) => s.table ?? []))];
  const table = largest.find((s) => s.name === name)?.table ?? (tables.length === 1 ? tables[0] : null);
  const filter = `name = ${quote(name)}`;
  if (table === "kernels") return linkProps({ view: "kernels", filter });
  return table === "ops" ? linkProps({ view: "operators", filter }) : null;
}

function Largest({ time, end }: { time: ClassTime; end: number }) {
  const anyFunction = time.largest.some((s) => s.where !== null);
  return (
    <table class="plain">
      <HeadRow
        of={[
          texts.largest,
          { title: texts.place, class: "place" },
          anyFunction && { title: texts.function, class: "source" },
          numbers(texts.duration),
          texts.timeline,
        ]}
      />
      <tbody>
        {time.largest.map((s) => (
          <tr key={s.start_ns} data-start={s.start_ns} data-value={s.duration_ns}>
            <td class="name" title={s.name}>
              <Event of={s} />
            </td>
            <td class="place" title={s.place}>
              {s.place}
            </td>
            {anyFunction && <td class="source">{s.where && <FunctionLink where={s.where} />}</td>}
            <td class="number" title={exactDuration(s.duration_ns)}>
              {duration(s.duration_ns)}
            </td>
            <td>
              <a
                {...toInterval(s.start_ns, s.start_ns + s.duration_ns, end, itemOf(s))}
                data-testid="interval"
              >
                {texts.show}
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The responsible event; its link shows its record. */
function Event({ of: { table, row, name } }: { of: LargestInterval }) {
  if (table === null || row === null) return <span class="muted">{texts.noEvent}</span>;
  return <a {...linkProps({ event: `${table}/${row}` })}>{withoutFolders(name) || t.eventLink.noName}</a>;
}

const itemOf = ({ table, row }: LargestInterval): { item: string } | object =>
  table === null || row === null ? {} : { item: `${table}:${row}` };
