// The lines of the user's program that some calls come from.
import type { CallSite } from "../../../api/types";
import { count, duration, exactDuration } from "../../../lib/format";
import { sourceOf, withoutFolders } from "../../../lib/python-stack";
import { t } from "../../../i18n";
import { Section } from "../../../widgets/inspector/section";
import { ShortSourceLink } from "../source-link";

const texts = t.inspector;

export function CallSites({ sites }: { sites: readonly CallSite[] }) {
  if (sites.length === 0) return null;
  return (
    <Section name="sites" title={texts.parts.sites}>
      <table class="plain name-table">
        <tbody>
          {sites.map(({ line, calls, total_ns: total }) => {
            const source = sourceOf(line);
            return (
              <tr key={line} data-site={line} data-value={total}>
                <td class="name" title={line}>
                  {source && <ShortSourceLink {...source} />} <span class="muted">{functionOf(line)}</span>
                </td>
                <td class="number">{texts.calls(count(calls))}</td>
                <td class="number" title={exactDuration(total)}>
                  {duration(total)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}

/** `step` of `train.py(12): step`; all of a name without a line. */
export const functionOf = (line: string): string => withoutFolders(line).replace(/^.*\(\d+\): /, "");
