// Who the other ranks wait for beyond chance: who, what takes longer, the evidence, and who waits.
import type { Culprit, Distributed as Result } from "../../api/types";
import { duration, exactDuration } from "../../lib/format";
import { ranges } from "../../lib/ranges";
import { t } from "../../i18n";
import { linkProps, ofRank } from "../../state/links";
import { state } from "../../state/url";

const texts = t.distributed.culprits;

/** Fewer steps cannot tell a lasting difference from chance. */
const LEAST_STEPS = 3;
const MOST_RANGES = 8;
/** A smaller probability says no more: the hypothesis of chance is a model. */
const MOST_JOBS = 1e9;

export function Culprits({ result }: { result: Result }) {
  if (result.culprits.length === 0) return <None result={result} />;
  return (
    <section class="notice culprits" data-testid="culprits" data-rows={result.culprits.length}>
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

/** Nothing found means something only if ranks met each other in enough steps. */
function None({ result }: { result: Result }) {
  const met = result.rows.filter((row) => row.synchronising_ns !== null);
  if (met.length < 2) return null;
  // Of one chosen step, the rows do not tell how many there are.
  const enough = state.value.step !== null || met.every((row) => row.steps >= LEAST_STEPS);
  return (
    <p class="muted" data-testid="no-culprits">
      {enough ? texts.none : texts.fewSteps(LEAST_STEPS)}
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
  const first = one.ranks[0] ?? 0;
  return (
    <li data-testid="culprit" data-kind={one.kind} data-ranks={one.ranks.join(" ")} data-cause={one.cause}>
      <div>
        <b>{nameOf(one)}</b> <span class="badge">{texts.kinds[one.kind]}</span>{" "}
        {one.cost_ns !== null && (
          <span title={exactDuration(one.cost_ns)}>{texts.cost(duration(one.cost_ns))}</span>
        )}
      </div>
      <div>
        <What culprit={one} idle={idle} />{" "}
        {one.victims.length > 0 && one.kind !== "link" && <Victims culprit={one} />}
      </div>
      <div class="small">
        <span class="muted">{evidenceOf(one)}</span>{" "}
        <a {...linkProps({ view: "timeline", ...ofRank(first) })}>{texts.timeline(first)}</a>
        {" · "}
        <a {...linkProps({ view: "overview", ...ofRank(first) })}>{texts.overview(first)}</a>
      </div>
    </li>
  );
}

function What({ culprit: one, idle }: RowProps) {
  if (one.kind === "missing") return null;
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

function Victims({ culprit: one }: { culprit: Culprit }) {
  return (
    <span class="muted" data-testid="victims">
      {texts.victims(listed(one.victims), one.victims.length)}
    </span>
  );
}

function nameOf(one: Culprit): string {
  const ranks = listed(one.ranks);
  if (one.kind === "node" && one.host !== null) return texts.host(one.host, ranks);
  if (one.kind !== "missing" && one.group !== null) return texts.group(one.group, ranks);
  const name = texts.ranks(ranks, one.ranks.length);
  return one.host === null ? name : `${name} ${texts.onHost(one.host)}`;
}

function evidenceOf(one: Culprit): string {
  const jobs = Math.min(10 ** Math.max(Math.floor(-Math.log10(Math.max(one.p_value, 1e-300))), 1), MOST_JOBS);
  const what =
    one.excess_ns === null || one.excess_bound_ns === null
      ? texts.fewerCalls
      : texts.excess(duration(one.excess_ns), duration(one.excess_bound_ns), one.kind === "link");
  return texts.evidence(what, one.steps, one.of_steps, jobs);
}

function listed(ranks: readonly number[]): string {
  const all = ranges(ranks);
  const shown = all.slice(0, MOST_RANGES).join(", ");
  return all.length > MOST_RANGES ? texts.more(shown, all.length - MOST_RANGES) : shown;
}

const MOST_LETTERS = 60;

function shortened(name: string): string {
  return name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS)}…` : name;
}
