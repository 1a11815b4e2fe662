// Where the time of the window goes: a bar of all classes, and a table that says more of each.
import type { Account, Overview, StepCounts } from "../../api/types";
import { duration, percent } from "../../lib/format";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { Segmented } from "../../widgets/controls/segmented";
import { CsvButton } from "../../widgets/table/csv-button";
import { DataWarnings } from "../shared/data-warnings";
import { classGroups, shareRange } from "./account-limits";
import { TimeBar } from "./time-bar";
import { TimeClasses, type Replayed } from "./time-classes";
import "./time-account.css";

const texts = t.timeAccount;

interface TimeAccountProps extends Replayed {
  now: Overview;
  step: number | null;
  /** Of all steps, where `now` has only some of them. */
  counts?: StepCounts;
}

/** Nothing where a device was used and the trace has no times of it. */
export function TimeAccount({ now, step, counts = now.step_counts, path = null, tried }: TimeAccountProps) {
  const chosen = now.device_accounts.find((d) => String(d.device) === state.value.device);
  const account = chosen?.account ?? now.account;
  if (account === null) return null;
  const groups = classGroups(account);
  const window = windowOf(now, account, step, counts.numbered);
  return (
    <section class="time-account" data-testid="account" data-value={account.window_ns}>
      <h2 class="withcsv">
        {texts.title}{" "}
        <small class="muted" data-testid="account-window">
          {chosen ? texts.ofDevice(chosen.device, window) : window}
        </small>
        <CsvButton name="account" rows={groups.flatMap((g) => g.classes).map(csvRow)} />
      </h2>
      <DataWarnings findings={now.provenance.warnings} figures={["totals"]} />
      <Devices now={now} chosen={chosen?.device ?? null} />
      <TimeBar groups={groups} window={account.window_ns} />
      <TimeClasses
        groups={groups}
        window={account.window_ns}
        end={now.duration_ns}
        path={path}
        tried={tried}
      />
      {account.missing.length > 0 && (
        <ul class="plainlist muted small missing" data-testid="account-missing">
          {account.missing.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** `of 3 steps, 636 ms: idle 412 ms, 64.8 % (50.0 to 75.0 %)`; of the host alone without idle time. */
function windowOf(now: Overview, account: Account, step: number | null, steps: number): string {
  const facts = now.provenance.window;
  const steady = facts?.kind === "steady";
  const window = texts.window(step, facts?.recorded_steps ?? steps, steady, duration(account.window_ns));
  if (now.utilization === null) return window;
  const { idle_ns: ns, idle_bound_ns: bound, window_ns: whole } = account;
  return texts.idle(window, duration(ns), percent(ns / whole), shareRange(ns, bound, whole));
}

const ALL = "all";

function Devices({ now, chosen }: { now: Overview; chosen: number | null }) {
  if (now.device_accounts.length === 0) return null;
  const devices = now.device_accounts.map(({ device }) => ({
    value: String(device),
    label: texts.device(device),
  }));
  return (
    <div class="toolbar devices">
      <Segmented
        label={texts.devices}
        value={chosen === null ? ALL : String(chosen)}
        onPick={(value) => go({ device: value === ALL ? null : value })}
        choices={[{ value: ALL, label: texts.all, title: texts.allHelp }, ...devices]}
      />
    </div>
  );
}

const csvRow = ({ parts, largest, ...row }: Account["classes"][number]): object => ({
  ...row,
  longest_ns: largest[0]?.duration_ns ?? null,
  longest_start_ns: largest[0]?.start_ns ?? null,
  parts,
});
