// Search over the whole trace, also what is not loaded; Enter goes from hit to hit.
import { useState } from "preact/hooks";
import type { Found, Item } from "../api";
import { boundOf, count, duration } from "../base/format";
import { useView, type Resource } from "../load";
import type { Selected } from "../place";
import { go } from "../state";
import { t } from "../texts";
import type { ShowItem } from "./timelinedetails";

const PAGE = 100;

export interface SearchState {
  resource: Resource<Found>;
  /** Which hit is shown, from 0; -1 before the first. */
  at: number;
  next: (by: 1 | -1, show: ShowItem) => void;
}

export function useSearch(selected: Selected, find: string | null): SearchState {
  const [place, setPlace] = useState<{ find: string | null; at: number }>({ find, at: -1 });
  const at = place.find === find ? place.at : -1;
  const page = Math.floor(Math.max(0, at) / PAGE);
  const resource = useView("search", selected, find === null ? null : { text: find, after: page * PAGE, limit: PAGE }, null);
  // The next page is asked for before it is needed.
  const ahead = useView("search", selected, find === null ? null : { text: find, after: (page + 1) * PAGE, limit: PAGE }, null);
  const next = (by: 1 | -1, show: ShowItem): void => {
    if (!find || resource.loaded.status !== "ready") return;
    const { matches, items, before } = resource.loaded.value;
    if (matches === 0) return;
    const to = (at + by + matches) % matches;
    const near: Item | undefined = items[to - before] ?? (ahead.loaded.status === "ready" ? ahead.loaded.value.items[to - ahead.loaded.value.before] : undefined);
    setPlace({ find, at: to });
    if (near) show(near);
  };
  return { resource, at, next };
}

export function Search({ find, search, show }: { find: string | null; search: SearchState; show: ShowItem }) {
  const { loaded } = search.resource;
  const found = find && loaded.status === "ready" ? loaded.value : null;
  return (
    <span class="filterbox timesearch">
      <input type="search" data-filter data-testid="timeline-search" placeholder={t.timeline.searchHint} aria-label={t.timeline.search} value={find ?? ""}
        onInput={(e) => go({ find: e.currentTarget.value || null }, "replace")}
        onKeyDown={(e) => {
          if (e.key === "Enter") search.next(e.shiftKey ? -1 : 1, show);
          else if (e.key === "Escape") { go({ find: null }, "replace"); e.currentTarget.blur(); } else return;
          e.preventDefault();
          e.stopPropagation();
        }} />
      {found && (
        <span class="hits" data-testid="timeline-hits" data-value={found.matches} role="status">
          {found.matches === 0 ? t.timeline.noMatch : <>
            {search.at >= 0 && t.timeline.hitOf(count(search.at + 1))}{count(found.matches)}
            {found.kernels_ns > 0 && <span class="muted"> {t.timeline.onDevice(duration(found.kernels_ns), boundOf(found.kernels_bound_ns, true))}</span>}
            <button type="button" class="quiet" title={t.timeline.previous} onClick={() => search.next(-1, show)}>‹</button>
            <button type="button" class="quiet" title={t.timeline.next} onClick={() => search.next(1, show)}>›</button>
          </>}
        </span>
      )}
    </span>
  );
}
