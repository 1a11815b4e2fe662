// Who the other ranks wait for beyond chance: who, what takes longer, the evidence, and who waits.
import type { Culprit, Distributed as Result } from "../../api/types";
import { duration, exactDuration } from "../../lib/format";
import { culprits as texts } from "../../i18n/culprits";
import { linkProps, ofRank } from "../../state/links";
import { state } from "../../state/url";
import { costOf, listed, nameOf, noneFound } from "../shared/culprit-texts";
import { Fact } from "../shared/finding-parts";
import "./culprits.css";

/** A smaller probability says no more: the hypothesis of chance is a model. */
const MOST_JOBS = 1e6;
/** Ranks with links to their own pages; the others are in the table. */
const MOST_LINKS = 3;

export function Culprits({ result }: { result: Result }) {
  if (result.culprits.length === 0) return <None result={result} />;
  return (
    <section class="culprits" data-testid="culprits" data-rows={result.culprits.length}>
      <h2>
        {texts.title} <small class="muted">{texts.titleNote(result.culprits.length)}</small>
      </h2>
      <ul class="plainlist">
        {result.culprits.map((one) => (
          <Row
            key={`${one.kind}/${one.group}/${one.ranks.join()}`}
            culprit={one}
            idle={idleOf(result, one)}
          />
        ))}
      </ul>
    </section>
  );
}

function None({ result }: { result: Result }) {
  const text = noneFound(result, state.value.step !== null);
  if (text === null) return null;
  return (
    <p class="muted" data-testid="no-culprits" data-value={result.least_cost_ns}>
      {text}
    </p>
  );
}

/** The title of the class that most of the additional idle time has, as the ranks have it. */
function idleOf(result: Result, one: Culprit): string | null {
  const classes = result.rows.flatMap((row) => row.idle_classes);
  return classes.find((time) => time.name === one.idle_class)?.label ?? null;
}

interface RowProps {
  culprit: Culprit;
  idle: string | null;
}

function Row({ culprit: one, idle }: RowProps) {
  const { kind, cause, victims } = one;
  const cost = one.cost_ns;
  return (
    <li data-testid="culprit" data-kind={kind} data-ranks={one.ranks.join(" ")} data-cause={cause}>
      <header>
        <b>{nameOf(one)}</b> <span class="kind">{texts.kinds[kind]}</span>{" "}
        <span class="cost" title={cost === null ? undefined : exactDuration(cost)}>
          {costOf(one)}
        </span>
      </header>
      <dl class="facts">
        <Fact id="cause" name={texts.causeName}>
          {kind !== "missing" && <Cause culprit={one} idle={idle} />}{" "}
          <span class="muted">{texts.meanings[meaningOf(one)]}</span>
        </Fact>
        {victims.length > 0 && kind !== "link" && (
          <Fact id="victims" name={texts.waiting}>
            <span data-testid="victims">{texts.ranks(listed(victims), victims.length)}</span>
          </Fact>
        )}
        <Fact id="evidence" name={texts.evidenceName}>
          <span title={`p ≤ ${one.p_value.toExponential(1)}`}>{evidenceOf(one)}</span>
        </Fact>
        <Fact id="pages" name={texts.pages}>
          <ul class="plainlist pages">
            {one.ranks.slice(0, MOST_LINKS).map((rank) => (
              <li key={rank}>
                <Pages rank={rank} />
              </li>
            ))}
            {victims[0] !== undefined && kind !== "link" && (
              <li>
                <span class="small muted">{texts.compare}</span> <Pages rank={victims[0]} />
              </li>
            )}
          </ul>
        </Fact>
      </dl>
    </li>
  );
}

/** Links to what there is of one rank. */
function Pages({ rank }: { rank: number }) {
  return (
    <span class="small">
      {texts.ranks(String(rank), 1)}
      {texts.colon}
      <a {...linkProps({ view: "timeline", ...ofRank(rank) })}>{texts.timeline}</a>
      {" · "}
      <a {...linkProps({ view: "overview", ...ofRank(rank) })}>{texts.overview}</a>
    </span>
  );
}

function meaningOf({ kind, cause }: Culprit): keyof typeof texts.meanings {
  return kind === "missing" || kind === "throttled" ? kind : cause;
}

function Cause({ culprit: one, idle }: RowProps) {
  const { kernel, kernel_ns: kernelNs } = one;
  return (
    <>
      {texts.cause(one.cause, one.cause_ns === null ? null : duration(one.cause_ns))}{" "}
      {kernel !== null &&
        kernelNs !== null &&
        texts.inKernel(duration(kernelNs), <code title={kernel}>{shortened(kernel)}</code>)}
      {one.cause === "host" && idle !== null && texts.mostly(idle)}
    </>
  );
}

function evidenceOf(one: Culprit): string {
  const jobs = Math.min(10 ** Math.max(Math.floor(-Math.log10(Math.max(one.p_value, 1e-300))), 1), MOST_JOBS);
  const { excess_ns: excess, excess_bound_ns: bound } = one;
  if (excess === null || bound === null) {
    return texts.evidence(texts.fewerCalls, one.steps, one.of_steps, jobs);
  }
  const what = texts.excess(duration(excess), duration(bound), one.kind === "link");
  const text = texts.evidence(what, one.steps, one.of_steps, jobs);
  return bound < excess ? text : `${text} ${texts.uncertain(one.of_steps)}`;
}

const MOST_LETTERS = 60;

function shortened(name: string): string {
  return name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS)}…` : name;
}
