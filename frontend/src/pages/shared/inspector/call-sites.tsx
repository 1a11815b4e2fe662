// The functions of the program that some calls come from.
import type { CallSite } from "../../../api/types";
import { count, duration, exactDuration } from "../../../lib/format";
import { t } from "../../../i18n";
import { Section } from "../../../widgets/inspector/section";
import { TitleLink } from "../source-link";

const texts = t.inspector;

export function CallSites({ sites }: { sites: readonly CallSite[] }) {
  if (sites.length === 0) return null;
  return (
    <Section name="sites" title={texts.parts.sites}>
      <table class="plain name-table">
        <tbody>
          {sites.map(({ function: name, calls, total_ns: total }) => (
            <tr key={name} data-site={name} data-value={total}>
              <td class="name" title={name}>
                <TitleLink title={name} />
              </td>
              <td class="number">{texts.calls(count(calls))}</td>
              <td class="number" title={exactDuration(total)}>
                {duration(total)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
