// The frame of every page: selectors and badges on top, pages on the left, keys.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Overview, Runs } from "../api/types";
import { isCovered, isTyping } from "../lib/dom";
import { onKeyDown } from "../lib/tensorboard-host";
import { useLatestCallback } from "../lib/use-latest-callback";
import { useWidth } from "../lib/use-width";
import { Help } from "./help";
import { traceOf, useLatest, useRuns, useView, type Latest } from "../state/use-result";
import { rowOfStep, select, type Selected } from "../state/selection";
import { go, state } from "../state/url";
import { t } from "../i18n";
import { RecordControl } from "./record-control";
import { TopBar } from "./topbar";
import { Tour } from "./tour";
import { EmptyLogdir, Scanning } from "./empty-logdir";
import { pageOf, PAGES, type Page } from "../pages";
import type { Known } from "../pages/entries";
import { extras } from "../state/extras";
import { EventDock } from "./event-dock";
import { Rail, Tabs } from "./navigation";
import { RecordPlace } from "../pages/shared/record-button";
import { ErrorBoundary, Show } from "../pages/shared/load-states";
import { PartialRecording, partialOf } from "../pages/shared/partial-recording";
import "./frame.css";

export function Frame() {
  const runs = useRuns();
  const [help, setHelp] = useState(false);
  useKeys(() => setHelp((open) => !open));
  const page = pageOf(state.value.view);
  const known = runs.loaded.status === "ready" ? runs.loaded.value : null;
  const selected = known && select(known, state.value);
  return (
    <div class="frame">
      <a class="skip" href={`#${MAIN}`} onClick={skip} data-testid="skip">
        {t.entries.skip}
      </a>
      {known && selected ? (
        <OfTrace runs={known} selected={selected} page={page} help={() => setHelp(true)} />
      ) : (
        <>
          <header class="topbar">
            <b>{t.frame.brand}</b>
            <span class="push" />
            <RecordControl />
          </header>
          <Rail page={page} known={NOTHING} />
          <main id={MAIN}>
            <h1 class="unseen">{t.frame.title}</h1>
            <Show resource={runs}>{(r) => <Nothing runs={r} />}</Show>
          </main>
        </>
      )}
      <RecordPlace />
      <Tour />
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

const MAIN = "main";

/** To the page itself, past the top bar and the navigation. The address is the selection's own. Only
 * meanwhile can the page have the focus: else each click in it would take that from an open panel. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  const main = document.getElementById(MAIN);
  if (!main) return;
  main.tabIndex = -1;
  main.focus();
  main.addEventListener("blur", () => main.removeAttribute("tabindex"), { once: true });
}

const NOTHING: Known = { contents: null, absent: [], ranks: 1, partial: null, sql: false };
const hasSql = (): boolean => (extras.value?.sql_allowed && extras.value.sql_installed) ?? false;

function Nothing({ runs }: { runs: Runs }) {
  return runs.scanning ? <Scanning runs={runs} /> : <EmptyLogdir runs={runs} />;
}

function OfTrace({
  runs,
  selected,
  page,
  help,
}: {
  runs: Runs;
  selected: Selected;
  page: Page;
  help: () => void;
}) {
  const base = useBase(selected, page);
  const overview = base.loaded.status === "ready" ? base.loaded.value : null;
  const Component = page.component;
  const Alone = page.alone;
  const own = `${page.name} ${selected.place.run}`;
  const known: Known = {
    contents: overview?.contents ?? null,
    absent: overview?.absent ?? [],
    ranks: selected.run?.workers.length ?? 1,
    partial: overview && partialOf(overview),
    sql: hasSql(),
  };
  return (
    <>
      <TopBar runs={runs} selected={selected} overview={overview} help={help} />
      <Rail page={page} known={known} />
      <Main page={page} known={known} busy={base.isStale}>
        {Alone && (
          <ErrorBoundary key={own}>
            <Alone selected={selected} runs={runs} />
          </ErrorBoundary>
        )}
        {!Alone && (
          <Show resource={base}>
            {(value) => {
              const partial = partialOf(value);
              return (
                <ErrorBoundary key={own}>
                  {partial && !page.ofPartial?.includes(partial) ? (
                    <PartialRecording overview={value} partial={partial} />
                  ) : (
                    <Component selected={selected} base={value} runs={runs} />
                  )}
                </ErrorBoundary>
              );
            }}
          </Show>
        )}
      </Main>
      <EventDock selected={selected} />
    </>
  );
}

/** The overview over all steps: the step selector, the badges and the chart need it whatever is
 * selected. A page that does without goes before. */
function useBase(selected: Selected, page: Page): Latest<Overview> {
  const patient = page.alone !== undefined;
  const first = useView("overview", selected, { brief: true }, null, patient);
  // Of many steps the first ones are listed: another request has those around the selected one.
  const { step } = selected.place;
  const isFar = step !== null && first.loaded.status === "ready" && isUnlisted(first.loaded.value, step);
  const far = useView("overview", selected, isFar ? { brief: true, around: step } : null, null, patient);
  const base = isFar && far.loaded.status === "ready" ? far : first;
  // A trace may change, or be listed only after it was asked for: the page stays until it is known
  // that reading takes its time, so that nothing typed is lost.
  const latest = useLatest(base, traceOf(selected.place));
  const takesTime = base.loaded.status === "loading" && base.loaded.progress !== null;
  return takesTime ? { ...base, isStale: false } : latest;
}

const isUnlisted = ({ steps, steps_total: total }: Overview, step: number): boolean =>
  steps.length < total && rowOfStep(steps, step) === -1;

/** Below it, what stands side by side on a page stands one below the other: beside the inspector there
 * may be little room in a wide window. */
const NARROW_PX = 760;

interface MainProps {
  page: Page;
  known: Known;
  /** Whether what is shown is not the latest. */
  busy: boolean;
  children: ComponentChildren;
}

function Main({ page, known, busy, children }: MainProps) {
  const { view } = state.value;
  const main = useRef<HTMLElement>(null);
  const isNarrow = useWidth(main, NARROW_PX) < NARROW_PX;
  return (
    <main
      ref={main}
      id={MAIN}
      data-testid={`page-${page.name}`}
      aria-label={page.title}
      aria-busy={busy || undefined}
      {...(isNarrow && { "data-narrow": "" })}
    >
      <h1 class="unseen">{page.title}</h1>
      {view !== null && view !== page.name && (
        <p class="notice warn" role="alert" data-testid="unknown-page">
          {t.entries.unknownPage(view)}
        </p>
      )}
      <Tabs page={page} known={known} />
      {children}
    </main>
  );
}

/** How long after `g` the letter may come. */
const JUMP_MS = 1500;

function useKeys(onHelp: () => void): void {
  const toggleHelp = useLatestCallback(onHelp);
  useEffect(() => {
    let jump = -Infinity;
    return onKeyDown((event) => {
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isTyping(event.target) ||
        (isCovered() && event.key !== "?")
      )
        return;
      const page = performance.now() - jump < JUMP_MS ? PAGES.find((p) => p.letter === event.key) : undefined;
      jump = event.key === "g" ? performance.now() : -Infinity;
      if (page) go({ view: page.name });
      else if (event.key === "/") document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
      else if (event.key === "?") toggleHelp();
      else return; // Escape is the dialogs' own
      event.preventDefault();
    });
  }, []);
}
