// Who keeps the other ranks waiting, in one line with the words and figures of the page *Ranks*.
import { useRef, useState } from "preact/hooks";
import type { Culprit, Distributed } from "../../api/types";
import { exactDuration } from "../../lib/format";
import { culprits as texts } from "../../i18n/culprits";
import { linkProps } from "../../state/links";
import { ofAllRanks, type Selected } from "../../state/selection";
import { state } from "../../state/url";
import { useView, type Resource } from "../../state/use-result";
import { costOf, nameOf, noneFound } from "../shared/culprit-texts";

/** The line has one row or two; the page *Ranks* has them all. */
const SHOWN = 3;
/** What is read without being asked for: some seconds, at 180 MB and 17 ranks a second of one core
 * (docs/internals/performance.md). Of more, the reader decides. */
const MOST_BYTES = 256 * 2 ** 20;
const MOST_RANKS = 64;

interface LineProps {
  selected: Selected;
  ranks: number;
}

export function WaitedForLine({ selected, ranks }: LineProps) {
  const [asked, setAsked] = useState(false);
  const line = useRef<HTMLDivElement>(null);
  const compare = (): void => {
    setAsked(true);
    line.current?.focus(); // the button goes
  };
  const all = ofAllRanks(selected);
  // As the page *Ranks* asks: either finds the answer to the other's question.
  const options = asked || isQuick(selected) ? ({ measure: "step" } as const) : null;
  const resource = useView("distributed", all, options, undefined, !asked);
  return (
    <div data-testid="waited-for" ref={line} tabIndex={-1}>
      {options === null ? (
        <p class="muted">
          {texts.title}
          {texts.colon}
          <button type="button" class="link" data-testid="compare-ranks" onClick={compare}>
            {texts.compareAll(ranks)}
          </button>
        </p>
      ) : (
        <Answer resource={resource} ranks={ranks} />
      )}
    </div>
  );
}

/** Whether to read all ranks takes seconds at most. */
function isQuick({ run, place }: Selected): boolean {
  const workers = run?.workers ?? [];
  const files = workers.flatMap((one) => one.spans.filter((span) => span.span === place.span));
  return workers.length <= MOST_RANKS && files.reduce((sum, one) => sum + one.bytes, 0) <= MOST_BYTES;
}

interface AnswerProps {
  resource: Resource<Distributed>;
  ranks: number;
}

function Answer({ resource: { loaded, retry }, ranks }: AnswerProps) {
  switch (loaded.status) {
    case "ready":
      return <Found result={loaded.value} />;
    case "loading":
      return <p class="muted">{texts.comparing(loaded.progress?.traces_done ?? 0, ranks)}</p>;
    case "failed":
      return (
        <p class="muted" role="alert">
          {loaded.failure.message}{" "}
          <button type="button" class="link" onClick={retry}>
            {texts.again}
          </button>
        </p>
      );
    case "canceled":
      return null;
  }
}

/** The costliest first, as the result has them; without any, what that means. */
export function Found({ result }: { result: Distributed }) {
  const all = result.culprits;
  const toRanks = (
    <a class="small" {...linkProps({ view: "distributed" })} data-testid="to-ranks">
      {texts.ranksPage}
    </a>
  );
  if (all.length === 0) {
    return (
      <p class="muted" data-testid="waited-for-none">
        {noneFound(result, state.value.step !== null) ?? texts.notShown} {toRanks}
      </p>
    );
  }
  const shown = all.slice(0, SHOWN);
  return (
    <p>
      {texts.title}
      {texts.colon}
      {shown.map((one, i) => (
        <span key={`${one.kind}/${one.group}/${one.ranks.join()}`}>
          {i > 0 && texts.between}
          <One culprit={one} />
        </span>
      ))}
      {all.length > SHOWN && ` ${texts.moreCauses(all.length - SHOWN)}`}
      {texts.end}
      {toRanks}
    </p>
  );
}

function One({ culprit: one }: { culprit: Culprit }) {
  return (
    <span data-testid="waited-for-one" data-kind={one.kind} data-ranks={one.ranks.join(" ")}>
      <b>{nameOf(one)}</b> ({texts.kinds[one.kind]}){texts.comma}
      <span
        title={one.cost_ns === null ? undefined : exactDuration(one.cost_ns)}
        data-value={one.cost_ns ?? ""}
      >
        {costOf(one)}
      </span>
    </span>
  );
}
