// A tour of the dashboard in five steps. It is offered until it is closed once, and stays in the help.
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { store, stored } from "../preference";
import { go } from "../state/url";
import { t } from "../i18n";
import { useReturnFocus } from "../widgets/controls/return-focus";
import "./tour.css";

const texts = t.tour;

const CLOSED = "tour";

/** The number of the step that is shown, from 0; null: none. */
const step = signal<number | null>(null);
const isOffered = signal(stored(CLOSED) === null);

/** What each step points at, on the summary. */
const TARGETS = ["verdict", "best", "step-picker", "rail-time", "rail-timeline"] as const;

export function startTour(): void {
  go({ view: null });
  step.value = 0;
}

function goTo(at: number): void {
  if (at < TARGETS.length) step.value = at;
  else close();
}

function close(): void {
  step.value = null;
  isOffered.value = false;
  store(CLOSED, "closed");
}

/** One line for newcomers. */
export function TourOffer() {
  if (!isOffered.value || step.value !== null) return null;
  return (
    <span class="tour-offer muted" data-testid="tour-offer">
      <button type="button" class="link" data-testid="tour-start" onClick={startTour}>
        {texts.offer}
      </button>{" "}
      <button type="button" class="quiet" aria-label={texts.never} title={texts.never} onClick={close}>
        ×
      </button>
    </span>
  );
}

export function Tour() {
  const at = step.value;
  return at === null ? null : <Step at={at} />;
}

function Step({ at }: { at: number }) {
  const next = useRef<HTMLButtonElement>(null);
  useReturnFocus();
  useLayoutEffect(() => next.current?.focus(), [at]);
  usePointer(TARGETS[at] ?? "");
  const isLast = at === TARGETS.length - 1;
  return (
    <section
      class="tour"
      role="dialog"
      aria-label={texts.title}
      data-testid="tour"
      data-value={at + 1}
      onKeyDown={(e) => e.key === "Escape" && close()}
    >
      <p>
        <b>{texts.steps[at]?.title}</b> {texts.steps[at]?.text}
      </p>
      <div class="toolbar">
        <span class="muted">{texts.of(at + 1, TARGETS.length)}</span>
        <span class="push" />
        {at > 0 && (
          <button type="button" onClick={() => goTo(at - 1)}>
            {texts.back}
          </button>
        )}
        <button type="button" ref={next} data-testid="tour-next" onClick={() => goTo(at + 1)}>
          {isLast ? texts.done : texts.next}
        </button>
        {!isLast && (
          <button type="button" class="quiet" data-testid="tour-close" onClick={close}>
            {texts.close}
          </button>
        )}
      </div>
    </section>
  );
}

/** Marks the element that a step is about, once it is there: cards come one by one. */
function usePointer(testid: string): void {
  useLayoutEffect(() => {
    let marked: Element | null = null;
    const mark = (): void => {
      const target = document.querySelector(`[data-testid="${testid}"]`);
      if (target === marked) return;
      marked?.removeAttribute("data-toured");
      target?.setAttribute("data-toured", "");
      target?.scrollIntoView({ block: "nearest" });
      marked = target;
    };
    mark();
    const observer = new MutationObserver(mark);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      observer.disconnect();
      marked?.removeAttribute("data-toured");
    };
  }, [testid]);
}
