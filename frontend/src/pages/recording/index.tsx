// The recording page: what was recorded, its quality, how device times were inferred, and files.
import { useLayoutEffect } from "preact/hooks";
import { linkProps } from "../../state/links";
import { useView } from "../../state/use-result";
import { state } from "../../state/url";
import { t } from "../../i18n";
import type { PageProps } from "../page-props";
import { Card } from "../shared/card";
import { RecordButton } from "../shared/record-button";
import { About } from "./about";
import { Method } from "./method";
import { Quality } from "./quality";
import { Recorded } from "./recorded";
import "./recording.css";

const texts = t.recording;

type Section = keyof typeof texts.sections;

export function Recording({ selected, base }: PageProps) {
  const quality = useView("quality", selected, {});
  const method = useView("method", selected, {});
  const inferred = base.provenance.timeline === "inferred";
  useSection(`${quality.loaded.status} ${method.loaded.status}`);
  return (
    <div class="recording-page">
      <nav class="recording-sections" aria-label={texts.sectionsLabel} data-testid="sections">
        <SectionLink of="recorded" />
        <SectionLink of="quality" />
        {inferred && <SectionLink of="method" />}
        <SectionLink of="about" />
      </nav>
      <section id={idOf("recorded")}>
        <h2 class="unseen">{texts.sections.recorded}</h2>
        <p class="again">
          <RecordButton testid="record-open" />
        </p>
        <Recorded selected={selected} base={base} quality={quality} method={method} />
      </section>
      <section id={idOf("quality")}>
        <h2 class="section">{texts.sections.quality}</h2>
        <Card lines={8} resource={quality}>
          {(result) => <Quality result={result} />}
        </Card>
      </section>
      {inferred && (
        <section id={idOf("method")}>
          <h2 class="section">{texts.sections.method}</h2>
          <Card lines={12} resource={method}>
            {(result) => <Method result={result} />}
          </Card>
        </section>
      )}
      <section id={idOf("about")}>
        <h2 class="section">{texts.sections.about}</h2>
        <About selected={selected} base={base} />
      </section>
    </div>
  );
}

const idOf = (section: string): string => `recording-${section}`;

/** The section's place on the page. A recording without inferred times has no section on the method:
 * where its times are from stands at the top. */
const show = (section: string): void => {
  const element = document.getElementById(idOf(section)) ?? document.getElementById(idOf("recorded"));
  element?.scrollIntoView({ block: "start" });
};

/** Scrolls to the section of the URL, once more when the parts above it have their height. A marked
 * warning scrolls itself into view. */
function useSection(loaded: string): void {
  const { section, filter } = state.value;
  useLayoutEffect(() => {
    if (section !== null && filter === null) show(section);
  }, [section, filter, loaded]);
}

function SectionLink({ of }: { of: Section }) {
  return (
    <a
      {...linkProps({ section: of, filter: null })}
      onClickCapture={() => show(of)}
      aria-current={state.value.section === of ? "location" : undefined}
      data-testid={`section-${of}`}
    >
      {texts.sections[of]}
    </a>
  );
}
