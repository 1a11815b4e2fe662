// Where the report's figures are from: files with their digests, the program, the command.
import type { ComponentChildren } from "preact";
import type { SourceFile } from "../api/types";
import { bytes, count, dateTime } from "../lib/format";
import { report as texts } from "../i18n/report";
import { CodeBlock } from "../widgets/controls/code-block";
import type { ReportData } from "./data";
import { Part } from "./header";
import { HeadRow, numbers } from "../widgets/table/head-row";

/** `children` are the tables of files. */
export function Provenance({ data, children }: { data: ReportData; children: ComponentChildren }) {
  return (
    <Part name="provenance">
      {children}
      <h3>{texts.made}</h3>
      <dl class="facts" data-testid="made">
        <div>
          <dt>{texts.program}</dt>
          <dd>
            <code>tb_privateuse1 {data.version}</code>
          </dd>
        </div>
        <div>
          <dt>{texts.madeAt}</dt>
          <dd>{dateTime(data.made_ns)}</dd>
        </div>
      </dl>
      <CodeBlock text={data.command} />
      {data.cuts.length > 0 && (
        <>
          <h3>{texts.cuts}</h3>
          <ul class="plainlist muted small" data-testid="cuts">
            {data.cuts.map((cut) => (
              <li key={cut.name}>{texts.cut(cut.name, count(cut.total - cut.shown))}</li>
            ))}
          </ul>
        </>
      )}
    </Part>
  );
}

export function FilesTable({ title, files }: { title: string; files: readonly SourceFile[] }) {
  return (
    <section class="filestable">
      <h3>{title}</h3>
      <table class="plain" data-testid="files">
        <HeadRow of={[texts.file, numbers(texts.size), texts.digest]} />
        <tbody>
          {files.map((file) => (
            <tr key={file.name}>
              <td class="wrap">{file.name}</td>
              <td class="number">{bytes(file.bytes)}</td>
              <td class="wrap">{file.sha256 ? <code>{file.sha256}</code> : texts.noDigest}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
