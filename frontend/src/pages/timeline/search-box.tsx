// Search over the whole trace, including what is not loaded; Enter goes to the next match.
import { useEffect, useState } from "preact/hooks";
import type { Found, Item, Options } from "../../api/types";
import { boundOf, count, duration } from "../../lib/format";
import { useView, type Resource } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { useLeaveField } from "../../widgets/controls/leave-field";
import { Segmented } from "../../widgets/controls/segmented";
import type { ShowItem } from "./details-panel";
import "../../widgets/table/filter-box.css";
import "./search-box.css";

const PAGE = 100;

type Only = NonNullable<Options["search"]["only"]>;

/** The kind of hits that the URL names, or all of them. */
const chosenKind = (): Only => {
  const { only } = state.value;
  return only !== null && Object.hasOwn(t.timeline.hitKinds, only) ? (only as Only) : "all";
};

export interface SearchState {
  /** The first hits, and how many there are. */
  found: Found | null;
  /** Which hit is shown, from 0; -1 before the first. */
  at: number;
  next: (by: 1 | -1, show: ShowItem) => void;
  /** The hit that could not be shown when it was asked for: its page had to come first. */
  late: Item | null;
  lateShown: () => void;
}

interface At {
  find: string | null;
  only: Only;
  at: number;
  /** Whether the hit is still to be shown. */
  due: boolean;
}

export function useSearch(selected: Selected, find: string | null): SearchState {
  const only = chosenKind();
  const [place, setPlace] = useState<At>({ find, only, at: -1, due: false });
  const { at, due } = place.find === find && place.only === only ? place : { at: -1, due: false };
  const usePage = (page: number | null): Resource<Found> =>
    useView(
      "search",
      selected,
      find === null || page === null ? null : { text: find, only, after: page * PAGE, limit: PAGE },
      null,
    );
  const first = usePage(0);
  const found = find !== null && first.loaded.status === "ready" ? first.loaded.value : null;
  const matches = found?.matches ?? 0;
  const page = Math.floor(Math.max(0, at) / PAGE);
  const here = usePage(page > 0 ? page : null);
  // The next page is asked for before it is needed.
  const ahead = usePage((page + 1) * PAGE < matches ? page + 1 : null);
  const hit = (to: number): Item | null => {
    for (const { loaded } of [first, here, ahead]) {
      const item = loaded.status === "ready" ? loaded.value.items[to - loaded.value.before] : undefined;
      if (item) return item;
    }
    return null;
  };
  const next = (by: 1 | -1, show: ShowItem): void => {
    if (matches === 0) return;
    const to = (Math.max(at, by > 0 ? -1 : 0) + by + matches) % matches;
    const item = hit(to);
    setPlace({ find, only, at: to, due: item === null });
    if (item) show(item);
  };
  return {
    found,
    at,
    next,
    late: due ? hit(at) : null,
    lateShown: () => setPlace({ find, only, at, due: false }),
  };
}

export function SearchBox({
  find,
  search,
  show,
}: {
  find: string | null;
  search: SearchState;
  show: ShowItem;
}) {
  const { found, late } = search;
  const { onFocus, leave } = useLeaveField();
  const showLate = useLatestCallback((item: Item): void => {
    search.lateShown();
    show(item);
  });
  useEffect(() => {
    if (late) showLate(late);
  }, [late]);
  return (
    <span class="filterbox timesearch">
      <input
        type="search"
        data-filter
        data-testid="timeline-search"
        placeholder={t.timeline.searchHint}
        aria-label={t.timeline.search}
        value={find ?? ""}
        onInput={(e) => go({ find: e.currentTarget.value || null }, "replace")}
        onFocus={onFocus}
        onKeyDown={(e) => {
          if (e.key === "Enter") search.next(e.shiftKey ? -1 : 1, show);
          else if (e.key === "Escape") {
            go({ find: null }, "replace");
            leave(e.currentTarget);
          } else return;
          e.preventDefault();
          e.stopPropagation();
        }}
      />
      {found && <Hits found={found} search={search} show={show} />}
      {found && found.groups.length > 1 && <Kinds groups={found.groups} />}
    </span>
  );
}

/** The kinds of what is found, with how many there are of each: one of them, or all, are walked through. */
function Kinds({ groups }: { groups: Found["groups"] }) {
  const all = groups.reduce((sum, { ranges }) => sum + ranges, 0);
  const kinds: { table: Only; ranges: number }[] = [{ table: "all", ranges: all }, ...groups];
  return (
    <span class="kinds" data-testid="timeline-kinds">
      <Segmented
        label={t.timeline.kindsOfHits}
        value={chosenKind()}
        choices={kinds.map(({ table, ranges }) => ({
          value: table,
          label: `${t.timeline.hitKinds[table]} ${count(ranges)}`,
        }))}
        onPick={(kind) => go({ only: kind === "all" ? null : kind }, "replace")}
      />
    </span>
  );
}

interface HitsProps {
  found: NonNullable<SearchState["found"]>;
  search: SearchState;
  show: ShowItem;
}

/** How many ranges match, and the way to the next. */
function Hits({ found, search, show }: HitsProps) {
  return (
    <span class="hits" data-testid="timeline-hits" data-value={found.matches} role="status">
      {found.matches === 0 ? (
        t.timeline.noMatch
      ) : (
        <>
          {search.at >= 0 && t.timeline.hitOf(count(search.at + 1))}
          {count(found.matches)}
          {found.kernels_ns !== null && found.kernels_ns > 0 && (
            <span class="muted">
              {" "}
              {t.timeline.onDevice(duration(found.kernels_ns), boundOf(found.kernels_bound_ns, true))}
            </span>
          )}
          <button
            type="button"
            class="quiet"
            title={t.timeline.previous}
            onClick={() => search.next(-1, show)}
          >
            ‹
          </button>
          <button type="button" class="quiet" title={t.timeline.next} onClick={() => search.next(1, show)}>
            ›
          </button>
        </>
      )}
    </span>
  );
}
