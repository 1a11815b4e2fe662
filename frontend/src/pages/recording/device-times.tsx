// Where the device times are from, and of a recording without any: why, and what to change.
import type { Advice, Method as Result } from "../../api/types";
import { linkProps } from "../../state/links";
import { t } from "../../i18n";
import { CodeBlock } from "../../widgets/controls/code-block";
import { SeverityMark } from "../shared/data-warnings";
import { partialOf } from "../shared/partial-recording";
import "./device-times.css";

const texts = t.method;

export function DeviceTimes({ result }: { result: Result }) {
  const { timeline } = result.provenance;
  return (
    <section data-testid="device-times" data-timeline={timeline} data-kind={result.kind ?? ""}>
      <p data-testid="method-reason">
        <b>{texts.sentence(texts.titles[timeline])}</b> {result.reason}
      </p>
      {timeline === "none" && (
        <>
          <Refused result={result} />
          <ElapsedKind result={result} />
          <Changes result={result} />
        </>
      )}
    </section>
  );
}

/** Why all or some times are missing. What the reason says already is not said again; its hint is. */
export function Refused({ result }: { result: Result }) {
  const rows = result.refused.filter((f) => f.message !== result.reason || f.hint !== null);
  if (rows.length === 0) return null;
  return (
    <ul class="findings" data-testid="refused">
      {rows.map((f) => (
        <li key={f.code} data-code={f.code} data-severity={f.severity}>
          <div>
            <SeverityMark severity={f.severity} /> {f.message !== result.reason ? f.message : f.hint}
          </div>
          {f.message !== result.reason && f.hint && <div class="hint">{f.hint}</div>}
          <div class="small">
            <a {...linkProps({ section: "quality", filter: f.code })}>
              <code>{f.code}</code>
            </a>
          </div>
        </li>
      ))}
    </ul>
  );
}

/** What the elapsed times of operators are; nothing if there are none. */
export function ElapsedKind({ result }: { result: Result }) {
  if (result.kind === null) return null;
  return (
    <p data-testid="method-kind" data-value={result.kind}>
      {texts.elapsed} <b>{texts.sentence(texts.kinds[result.kind])}</b>{" "}
      {result.kind_evidence !== result.reason && result.kind_evidence}
    </p>
  );
}

/** What to change in the capture, what helps most first. */
export function Changes({ result }: { result: Result }) {
  if (result.advice.length === 0)
    return result.provenance.timeline === "none" && partialOf(result) === null ? (
      <p class="muted" data-testid="no-advice">
        {t.noDeviceTimes.cpuAlone}
      </p>
    ) : null;
  return (
    <section>
      <h3>
        {texts.changes} <small class="muted">{texts.changesNote}</small>
      </h3>
      <ol class="plainlist method-advice" data-testid="advice">
        {result.advice.map((a) => (
          <Change key={a.code} advice={a} />
        ))}
      </ol>
    </section>
  );
}

function Change({ advice: a }: { advice: Advice }) {
  return (
    <li id={`advice-${a.code}`} data-key={a.code} tabIndex={-1}>
      <p>
        <b>{texts.sentence(a.title)}</b> {a.message}
      </p>
      {a.example !== null && <CodeBlock text={a.example} />}
    </li>
  );
}
