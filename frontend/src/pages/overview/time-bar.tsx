// One bar for all of a window, split by class of time: hatched where inferred.
import type { ClassTime } from "../../api/types";
import { classColor } from "../../lib/class-color";
import { duration, percent } from "../../lib/format";
import { t } from "../../i18n";
import { shareRange, type ClassGroup } from "./account-limits";
import "./time-bar.css";

const texts = t.timeAccount;

export function TimeBar({ groups, window }: { groups: readonly ClassGroup[]; window: number }) {
  const shares = groups.flatMap((g) => g.classes).map((c) => texts.share(c.label, percent(c.share)));
  return (
    <div class="timebar" role="img" aria-label={texts.shares(shares)} data-testid="account-bar">
      {groups.map(({ group, classes }) => (
        <span key={group} class="group" style={{ flexGrow: sum(classes) }}>
          {classes.map((c) => (
            <span
              key={c.name}
              class={c.bound_ns === 0 ? "part" : "part inferred"}
              data-key={c.name}
              data-value={c.ns}
              style={{ flexGrow: c.ns, "--fill": classColor(c.name) }}
              title={texts.part(
                c.label,
                duration(c.ns),
                percent(c.share),
                shareRange(c.ns, c.bound_ns, window),
                c.meaning,
              )}
            />
          ))}
        </span>
      ))}
    </div>
  );
}

const sum = (classes: readonly ClassTime[]): number => classes.reduce((ns, c) => ns + c.ns, 0);
