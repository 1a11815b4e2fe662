// The section on the trace itself: run, files, and the version that read them.
import { bytes, dateTime } from "../../lib/format";
import { t } from "../../i18n";
import type { PageProps } from "../page-props";
import { Facts } from "../shared/cards";

const texts = t.recording;
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
          { label: texts.sidecar, value: span.has_sidecar ? texts.inSidecar : texts.noSidecar },
        ]
      : []),
    {
      label: texts.engine,
      value: `tb_privateuse1 ${provenance.version} (${texts.build} ${provenance.build})`,
    },
  ];
  return (
    <div class="columns equal">
      <Facts title={texts.thisTrace} facts={facts} testid="trace-facts" head="h3" />
      {provenance.files.length > 0 && (
        <section>
          <h3>{texts.files}</h3>
          <ul class="file-list" data-testid="files">
            {provenance.files.map((f) => (
              <li key={f}>{f}</li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
