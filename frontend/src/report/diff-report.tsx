// The report of a change: before and after, why, and what changed by operator, kernel and module.
import type { DiffReport as Compared } from "../api/types";
import { DiffSummary, Largest } from "../pages/diff";
import { WindowContext, windowsOf } from "../widgets/window-context";
import { report as texts } from "../i18n/report";
import type { ReportData } from "./data";
import { Header, Part, PartFailures, PlaceLine } from "./header";
import { FilesTable, Provenance } from "./provenance";
import { placeSelected } from "./place";

const ROWS = 12;

export function DiffReport({ data, diff }: { data: ReportData; diff: Compared }) {
  const [first] = diff.diffs;
  const tables = diff.diffs.filter((one) => one.rows.length > 0);
  return (
    <WindowContext.Provider value={windowsOf(first, {})}>
      <Header brand={texts.diffBrand} title={data.title} parts={["summary", "changes", "provenance"]}>
        <div class="report-sides">
          <b>{texts.base}</b>
          <PlaceLine place={diff.base} window={first?.base.window} />
          <b>{texts.now}</b>
          <PlaceLine place={diff.place} window={first?.provenance.window} />
        </div>
      </Header>
      <main>
        <section class="reportpart diff" id="summary" data-testid="part-summary">
          <h2 class="unseen">{texts.parts.summary}</h2>
          <PartFailures failures={diff.failures} part="summary" />
          {first && <DiffSummary result={first} other={placeSelected(diff.base)} />}
        </section>
        <Part name="changes">
          <div class="columns equal report-tables">
            {tables.map((one) => (
              <section key={one.by} data-testid={`changes-${one.by}`}>
                <h3>{texts.by[one.by] ?? one.by}</h3>
                <Largest result={one} most={ROWS} />
              </section>
            ))}
          </div>
        </Part>
        <Provenance data={data}>
          <FilesTable title={texts.beforeFiles} files={diff.base.files} />
          <FilesTable title={texts.afterFiles} files={diff.place.files} />
        </Provenance>
      </main>
    </WindowContext.Provider>
  );
}
