// The about page: files, reader, recording options, data warnings.
import { bytes, dateTime } from "../../lib/format";
import { t } from "../../i18n";
import type { PageProps } from "../page-props";
import { TimelineSource } from "../shared/timeline-source";
import { Findings } from "../shared/load-states";
import { Facts } from "../shared/cards";

const texts = t.about;
const RANK_SOURCES: Readonly<Record<string, string>> = texts.rankSources;

export function About({ selected: { worker, span, run }, base }: PageProps) {
  const { provenance } = base;
  const facts = [
    ...(run ? [{ label: texts.run, value: run.run }] : []),
    ...(worker
      ? [
          {
            label: texts.rank,
            value: texts.rankFrom(worker.rank, RANK_SOURCES[worker.rank_source] ?? worker.rank_source),
          },
        ]
      : []),
    ...(span
      ? [
          { label: texts.span, value: `${span.span}, ${span.label}` },
          { label: texts.size, value: bytes(span.bytes) },
          ...(span.modified_ns === null ? [] : [{ label: texts.written, value: dateTime(span.modified_ns) }]),
          { label: texts.elapsed, value: span.has_sidecar ? texts.inSidecar : texts.noSidecar },
        ]
      : []),
    { label: texts.engine, value: `tb_privateuse1 ${provenance.version}` },
  ];
  return (
    <div class="about">
      <section>
        <h2>{texts.findings}</h2>
        <Findings findings={provenance.warnings} />
      </section>
      <section>
        <h2>{texts.deviceTimes}</h2>
        <TimelineSource overview={base} />
      </section>
      <section>
        <h2>{texts.files}</h2>
        <ul class="files" data-testid="files">
          {provenance.files.map((f) => (
            <li key={f}>{f}</li>
          ))}
        </ul>
      </section>
      <div class="columns equal">
        <Facts title={texts.thisTrace} facts={facts} testid="trace-facts" />
        <Facts title={texts.recorded} facts={base.run} testid="run-facts" />
        <Facts title={texts.device} facts={base.device} testid="device-facts" />
      </div>
    </div>
  );
}
