// The counters that the trace records, while some calls run.
import type { InstanceCounter } from "../../../api/types";
import { count, counted } from "../../../lib/format";
import { t } from "../../../i18n";
import { Section } from "../../../widgets/inspector/section";

const texts = t.inspector;
const heads = t.counters.columns;

export function CallCounters({ counters }: { counters: readonly InstanceCounter[] }) {
  if (counters.length === 0) return null;
  return (
    <Section name="counters" title={texts.parts.counters} note={texts.countersNote}>
      <table class="plain name-table">
        <thead>
          <tr>
            <th>{heads.one.title}</th>
            <Head {...heads.mean} />
            <Head {...heads.busy} />
            <Head {...heads.samples} />
          </tr>
        </thead>
        <tbody>
          {counters.map((one) => (
            <tr key={one.counter} data-counter={one.name} data-value={one.mean}>
              <td class="name" title={one.name}>
                {one.name}
              </td>
              <td class="number">{counted(one.mean, "")}</td>
              <td class="number muted">{counted(one.busy_mean, "")}</td>
              <td class="number muted">{count(one.samples)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

const Head = ({ title, help }: { title: string; help: string }) => (
  <th class="number" title={help}>
    {title}
  </th>
);
