// What flame graphs have in common: the search, the way to the first box, and what is ignored.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { joinNames } from "../../lib/name-path";
import { store, stored } from "../../preference";
import { linkProps } from "../../state/links";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { useLeaveField } from "../../widgets/controls/leave-field";
import { Popover } from "../../widgets/controls/popover";
import { patternOf } from "./flame-rows";
import "./flame-controls.css";

const texts = t.flame;

/** What is searched for: on the page while it is typed, in the URL when it is complete. */
export function useSearch(): [string, (text: string) => void] {
  const { filter } = state.value;
  const [search, setSearch] = useState(filter ?? "");
  // The URL may change under us: Back, or a link from another page.
  useEffect(() => setSearch(filter ?? ""), [filter]);
  return [search, setSearch];
}

/** What is typed stands out at once; it is in the URL when it is complete. */
export function Search({ text, set }: { text: string; set: (text: string) => void }) {
  const { onFocus, leave } = useLeaveField();
  return (
    <input
      type="search"
      data-filter
      onFocus={onFocus}
      data-testid="flame-search"
      value={text}
      placeholder={texts.find}
      aria-label={texts.findHelp}
      spellcheck={false}
      autocomplete="off"
      onInput={(e) => set(e.currentTarget.value)}
      onChange={() => go({ filter: text.trim() || null }, "replace")}
      onKeyDown={(e) => {
        if (e.key !== "Escape") return;
        if (!text) leave(e.currentTarget);
        set("");
        go({ filter: null }, "replace");
      }}
    />
  );
}

/** The share of the time that the search matches. */
export function Matched({ search, ns, total }: { search: string; ns: number; total: string }) {
  if (search.trim() === "") return null;
  return (
    <span class="muted" data-testid="flame-matched" data-value={ns}>
      {texts.found(total)}
    </span>
  );
}

export function Crumbs({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <nav class="flame-crumbs" aria-label={texts.crumbs} data-testid="crumbs">
      <a {...linkProps({ zoom: null })} data-testid="zoom-reset">
        {texts.all}
      </a>
      {names.map((name, i) => (
        <span key={i}>
          {" "}
          ›{" "}
          {i === names.length - 1 ? (
            <b>{name}</b>
          ) : (
            <a {...linkProps({ zoom: joinNames(names.slice(0, i + 1)) })}>{name}</a>
          )}
        </span>
      ))}
    </nav>
  );
}

/** To the box around the one that fills the width. */
export function zoomOut(names: readonly string[]): void {
  if (names.length > 0) go({ zoom: names.length > 1 ? joinNames(names.slice(0, -1)) : null });
}

const LIBRARIES = "flame.libraries";
const PATTERNS = "flame.ignore";
const HIDDEN = "ignored";

export interface Ignored {
  libraries: boolean;
  /** As the server takes them: separated by `;`. */
  patterns: string;
}

/** What is ignored: by the URL, else as on the last visit, which the URL then says, too. */
export function useIgnored(): Ignored {
  const { libraries, ignore } = state.value;
  const found = { libraries: libraries ?? stored(LIBRARIES), ignore: ignore ?? stored(PATTERNS) };
  useLayoutEffect(() => {
    if (found.libraries !== libraries || found.ignore !== ignore) go(found, "replace");
  });
  return { libraries: found.libraries === HIDDEN, patterns: found.ignore ?? "" };
}

/** The options of a view that ignores ranges. */
export const ignoring = ({ libraries, patterns }: Ignored): { ignore_libraries?: true; ignore?: string } => ({
  ...(libraries && { ignore_libraries: true as const }),
  ...(patterns && { ignore: patterns }),
});

/** Paths have other names then, so the graph starts with all of it. */
export function setIgnored({ libraries, patterns }: Ignored): void {
  const next = { libraries: libraries ? HIDDEN : null, ignore: patterns.trim() || null };
  store(LIBRARIES, next.libraries);
  store(PATTERNS, next.ignore);
  go({ ...next, zoom: null });
}

/** What is ignored, and with it the pattern that ignores a box. */
export function withPattern({ libraries, patterns }: Ignored, name: string, kind: string): Ignored {
  const pattern = patternOf(name, kind);
  return { libraries, patterns: patterns ? `${patterns};${pattern}` : pattern };
}

const count = ({ libraries, patterns }: Ignored): number =>
  Number(libraries) + (patterns.match(/(\\.|[^;\\])+/g)?.length ?? 0);

export function IgnoreMenu({ ignored }: { ignored: Ignored }) {
  const set = count(ignored);
  return (
    <Popover
      label={texts.ignore(set)}
      title={texts.ignoreHelp}
      testid="ignore"
      class={set > 0 ? "flame-ignores" : ""}
      attributes={{ "data-value": String(set) }}
    >
      {() => (
        <form class="flame-ignored" onSubmit={(e) => e.preventDefault()}>
          <label>
            <input
              type="checkbox"
              checked={ignored.libraries}
              data-testid="ignore-libraries"
              onChange={(e) => setIgnored({ ...ignored, libraries: e.currentTarget.checked })}
            />
            {texts.libraries}
          </label>
          <p class="muted">{texts.librariesHelp}</p>
          <label>
            {texts.patterns}
            <input
              type="text"
              value={ignored.patterns}
              data-testid="ignore-patterns"
              placeholder={texts.patternsExample}
              spellcheck={false}
              autocomplete="off"
              onChange={(e) => setIgnored({ ...ignored, patterns: e.currentTarget.value })}
            />
          </label>
          <p class="muted">{texts.patternsHelp}</p>
          <button
            type="button"
            data-testid="ignore-nothing"
            disabled={set === 0}
            onClick={() => setIgnored({ libraries: false, patterns: "" })}
          >
            {texts.ignoreNothing}
          </button>
        </form>
      )}
    </Popover>
  );
}
