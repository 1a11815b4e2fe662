// Where the figures come from: files, engine, how it was recorded, what is doubtful.
import { bytes, dateTime } from "../base/format";
import type { PageProps } from "./page";
import { Source } from "./source";
import { Findings } from "./status";
import { Facts } from "./summary";

const RANK_SOURCES: Readonly<Record<string, string>> = {
  metadata: "the trace's distributedInfo",
  name: "the file's name",
  order: "the order of the files: nothing tells it",
};

export function About({ selected: { worker, span, run }, base }: PageProps) {
  const { provenance } = base;
  const facts = [
    ...(run ? [{ label: "Run", value: run.run }] : []),
    ...(worker ? [{ label: "Rank", value: `${worker.rank}, from ${RANK_SOURCES[worker.rank_source] ?? worker.rank_source}` }] : []),
    ...(span ? [
      { label: "Span", value: `${span.span}, ${span.label}` },
      { label: "Size", value: bytes(span.bytes) },
      ...(span.modified_ns === null ? [] : [{ label: "Written", value: dateTime(span.modified_ns) }]),
      { label: "Elapsed times", value: span.has_sidecar ? "in a sidecar file" : "no sidecar file" },
    ] : []),
    { label: "Engine", value: `tb_privateuse1 ${provenance.version}` },
  ];
  return (
    <div class="about">
      <section><h2>Findings</h2><Findings findings={provenance.warnings} /></section>
      <section><h2>Device times</h2><Source overview={base} /></section>
      <section>
        <h2>Files</h2>
        <ul class="files" data-testid="files">{provenance.files.map((f) => <li key={f}>{f}</li>)}</ul>
      </section>
      <div class="columns equal">
        <Facts title="This trace" facts={facts} testid="trace-facts" />
        <Facts title="How it was recorded" facts={base.run} testid="run-facts" />
        <Facts title="Device" facts={base.device} testid="device-facts" />
      </div>
    </div>
  );
}
