// The timeline: every track of the trace, as fine as the screen can show.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Critical, Item, Links, Timeline as Result } from "../../api/types";
import { otherwise, tracksBetween } from "../../widgets/timeline/selection-area";
import { around, panned, showing, whole, within, zoomed, type Camera } from "../../widgets/timeline/camera";
import { downloadPicture } from "../../lib/dom";
import { bound, count, counted, duration, exactDuration } from "../../lib/format";
import { pictureWithLabels } from "../../lib/png";
import {
  fits,
  flipped,
  isFolded,
  lanesText,
  layout,
  parseLanes,
  raised,
  sectionOf,
  trackId,
  type Arrangement,
  type Section,
} from "../../widgets/timeline/track-layout";
import { useView } from "../../state/use-result";
import type { Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { Minimap } from "../../widgets/timeline/minimap";
import { neighbour, type Arrow, type Counter } from "../../widgets/timeline/scene";
import { HEADS_PX, TimeCanvas, type Drawn as DrawnArea } from "../../widgets/timeline/canvas";
import type { PageProps } from "../page-props";
import { Problem, Show } from "../shared/load-states";
import { AreaSummary } from "./area-summary";
import { useArea, useCamera, useKeys } from "./url-state";
import { colorBy, Colors } from "./color-menu";
import { CriticalToggle, useSpots } from "./critical-path";
import { densityOf, trackIn, useScene, type Drawn, type Lane } from "./window-data";
import { Details, itemText, parseItem, spotOf, useLinks, type ItemKey, type ItemSpot } from "./details-panel";
import { Export } from "./export-menu";
import { Heads, Only } from "./track-headings";
import { RankPicker, useRanks, type Ranks } from "./rank-picker";
import { Search, useSearch } from "./search-box";

const texts = t.timeline;
const PARTS = 600;

export function Timeline({ selected }: Pick<PageProps, "selected">) {
  const base = useView("timeline", selected, { tracks: "", width: PARTS }, null);
  // With a step selected, the timeline begins with it.
  const { step: asked } = selected.place;
  const step = useView("timeline", selected, asked === null ? null : { tracks: "", width: 1 }, asked);
  return (
    <Show resource={base}>
      {(result) =>
        asked === null ? (
          <Page key={selected.place.run} selected={selected} result={result} step={null} />
        ) : (
          <Show resource={step}>
            {({ start_ns, stop_ns }) => (
              <Page
                key={selected.place.run}
                selected={selected}
                result={result}
                step={{ start: start_ns, stop: stop_ns }}
              />
            )}
          </Show>
        )
      }
    </Show>
  );
}

function Page({ selected, result, step }: { selected: Selected; result: Result; step: Camera | null }) {
  const ranks = useRanks(selected, result);
  const { lanes } = ranks;
  const numbers = useMemo(() => lanes.map((lane) => lane.rank), [lanes]);
  const all = useMemo(
    () => ({
      start: Math.min(...lanes.map((l) => l.shift)),
      stop: Math.max(...lanes.map((l) => l.base.end_ns + l.shift)),
    }),
    [lanes],
  );
  const { lanes: lanesOf, item: itemOf, find, range, marks: marksText } = state.value;
  const [camera, move, atCamera] = useCamera(step ? around(step.start, step.stop, all) : whole(all));
  const arrangement = useMemo(() => parseLanes(lanesOf, numbers), [lanesOf, numbers]);
  const lines = useMemo(() => layout(sectionsOf(ranks), arrangement), [ranks, arrangement]);
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const [width, setWidth] = useState(1000);
  const [area, setArea] = useArea(numbers);
  const by = colorBy();
  const hoverAt = useRef<number | null>(null);
  /** What was picked here: only a link's range moves the camera. */
  const own = useRef<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const { scene, failure, busy, retry } = useScene(
    lanes,
    camera,
    lines,
    arrangement,
    scroll,
    width,
    by === "module",
  );
  const item = useMemo(() => parseItem(itemOf), [itemOf]);
  const place = item?.rank == null ? 0 : numbers.indexOf(item.rank, 1);
  const lane = lanes[place];
  const links = useLinks(lane?.selected ?? selected, lane ? item : null);
  const linked = item && lane && links.loaded.status === "ready" ? links.loaded.value : null;
  const spot = useMemo(
    () => (linked && lane ? spotOf(linked.item, lane, place) : null),
    [linked, lane, place],
  );
  const search = useSearch(selected, find);
  const marks = useMemo(
    () =>
      (marksText ?? "")
        .split(",")
        .filter((m) => /^-?\d{1,15}$/.test(m))
        .map(Number),
    [marksText],
  );
  const found = useMemo(() => matcher(find), [find]);
  const [critical, setCritical] = useState<Critical | null>(null);
  const path = useSpots(critical, lanes[0]);

  const pick = (text: string | null): void => {
    own.current = text;
    setArea(null);
    // With what is on the screen, so that Back shows the same again.
    go({ item: text, area: null, ...(text !== null && { range: atCamera(camera) }) });
  };
  /** What was drawn over; over headings and counters alone that is everything. */
  const draw = ({ heights, ...drawn }: DrawnArea): void => {
    const { start, stop } = within(drawn, all);
    if (start >= stop) return;
    const over =
      heights && tracksBetween(lines, ...heights).filter((id) => trackIn(lanes, id)?.kind !== "steps");
    setArea({ start, stop, tracks: over === null ? (area?.tracks ?? null) : over.length > 0 ? over : null });
  };
  /** Brings a range to the screen wherever it is. */
  const reveal = (spot: ItemSpot, zoom: boolean): void => {
    unfold(spot);
    move(zoom ? around(spot.start, spot.end, all) : showing(camera, spot.start, spot.end, all));
    const line = lines.find((l) => l.kind === "track" && l.id === spot.track);
    const scroller = box.current?.querySelector(".timecanvas");
    if (
      line &&
      scroller &&
      (line.y < scroller.scrollTop || line.y + line.height > scroller.scrollTop + scroller.clientHeight)
    ) {
      scroller.scrollTop = Math.max(0, line.y - 60);
    }
  };
  const show = (spot: ItemSpot): void => {
    pick(itemText(spot));
    reveal(spot, false);
  };
  const showOf =
    (at: number) =>
    (found: Item): void => {
      const of = lanes[at];
      if (of) show(spotOf(found, of, at));
    };
  const arrange = (changes: Partial<Arrangement>): void =>
    go({ lanes: lanesText({ ...arrangement, ...changes }, numbers) }, "replace");
  const toggle = (id: number): void => arrange({ toggled: flipped(arrangement.toggled, id) });
  const pin = (id: number): void =>
    arrange({
      pinned: arrangement.pinned.includes(id)
        ? arrangement.pinned.filter((p) => p !== id)
        : [...arrangement.pinned, id],
    });
  const lift = (id: number): void => arrange({ pinned: lifted(arrangement.pinned, id) });
  /** A range that is shown is seen, whatever is folded. */
  const unfold = ({ track: id, row }: ItemSpot): void => {
    const track = trackIn(lanes, id);
    if (!track) return;
    const folded = row > 0 && isFolded({ ...track, id }, arrangement);
    const hidden = !lines.some((line) => line.kind === "track" && line.id === id);
    if (!folded && !hidden) return;
    const key = `${sectionOf(id) === 0 ? "" : numbers[sectionOf(id)]}/${track.group_key}`;
    if (!fits(arrangement.only, `${track.group} ${track.label}`)) return arrange({ only: "" });
    arrange({
      toggled: folded ? flipped(arrangement.toggled, id) : arrangement.toggled,
      groups: hidden ? flipped(arrangement.groups, key) : arrangement.groups,
    });
  };
  const mark = (): void => {
    const at = hoverAt.current ?? (spot ? spot.start : (camera.start + camera.stop) / 2);
    const near = (camera.stop - camera.start) / 100;
    const rest = marks.filter((m) => Math.abs(m - at) > near);
    const next = rest.length < marks.length ? rest : [...marks, Math.round(at)].slice(-8);
    go({ marks: next.join(",") || null }, "replace");
  };
  const keys: Record<string, () => void> = {
    w: () => move(zoomed(camera, 0.7, hoverAt.current ?? middle(camera), all)),
    s: () => move(zoomed(camera, 1 / 0.7, hoverAt.current ?? middle(camera), all)),
    a: () => move(panned(camera, -0.2, all)),
    d: () => move(panned(camera, 0.2, all)),
    f: () => {
      if (area) move(around(area.start, area.stop, all));
      else if (spot) move(around(spot.start, spot.end, all));
    },
    m: mark,
    c: () => go({ critical: state.value.critical === null ? "1" : null }, "replace"),
    0: () => move(whole(all)),
    x: () => setArea({ ...within(between(marks) ?? camera, all), tracks: null }),
    Escape: () => pick(null),
    "[": () => {
      const from = linked?.operator ?? linked?.forward;
      if (from) showOf(place)(from);
    },
    "]": () => {
      const to = linked?.kernels[0] ?? linked?.backward[0];
      if (to) showOf(place)(to);
    },
    n: () => search.next(1, showOf(0)),
    N: () => search.next(-1, showOf(0)),
  };
  useKeys(keys);
  const toCanvas = (): void => box.current?.querySelector<HTMLElement>(".timecanvas")?.focus();
  const walk = (key: string): void => {
    if (!scene) return;
    const to = neighbour(scene, lines, camera, item && placeOf(scene, item, spot, numbers), key);
    if (to !== null) show(spotAt(scene, to, numbers));
    else if (key === "ArrowLeft" || key === "ArrowRight")
      move(panned(camera, key === "ArrowLeft" ? -0.5 : 0.5, all));
  };
  // Before anything is asked for, so that it is as wide as the page.
  useLayoutEffect(() => {
    const page = box.current;
    if (!page) return undefined;
    const measure = (): void => setWidth(Math.max(100, Math.round(page.clientWidth - HEADS_PX)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(page);
    return () => observer.disconnect();
  }, []);
  // A link that names a range but no part of the recording shows the range, if it says nothing else of
  // what is shown. Effects run late: by now another range may have been picked.
  useEffect(() => {
    if (
      !spot ||
      range !== null ||
      area !== null ||
      lanesOf !== null ||
      own.current === itemOf ||
      state.value.item !== itemOf
    )
      return;
    own.current = itemOf;
    reveal(spot, true);
  }, [linked]);

  const picked = useMemo(
    () => ({
      item: spot,
      area,
      marks,
      arrows: linked && lane ? arrowsOf(linked, lane, place) : [],
      found,
      by,
      path,
    }),
    [linked, lane, place, area, marks, found, by, path],
  );
  return (
    <div class="timeline fill" ref={box} aria-busy={busy} data-testid="timeline">
      <div class="toolbar">
        <Search find={find} search={search} show={showOf(0)} />
        <RankPicker selected={selected} ranks={ranks} />
        <Colors modules={lanes.some((one) => one.base.has_modules)} />
        <CriticalToggle
          selected={selected}
          step={step}
          lane={lanes[0]}
          found={critical}
          onFound={setCritical}
        />
        <button type="button" onClick={() => move(whole(all))} title={texts.fitHelp} data-testid="fit-all">
          {texts.fit}
        </button>
        <Export selected={selected} camera={camera} area={area} all={all} />
        <button
          type="button"
          class="quiet"
          title={texts.picture}
          data-testid="png-timeline"
          onClick={() => {
            if (box.current) savePicture(box.current, camera);
          }}
        >
          PNG
        </button>
        <span class="muted">
          {area
            ? texts.selected(duration(Math.round(area.stop - area.start)))
            : marks.length > 1
              ? texts.apart(duration(Math.abs((marks.at(-1) ?? 0) - (marks.at(-2) ?? 0))))
              : texts.hint}
        </span>
      </div>
      {ranks.failed.map(({ rank, failure: why }) => (
        <p key={rank} class="notice warn" data-testid="rank-failed">
          {texts.cannotShow(rank, why.message)}
        </p>
      ))}
      <Minimap
        camera={camera}
        all={all}
        of={{ start: 0, stop: result.end_ns }}
        density={useMemo(() => densityOf(result, PARTS), [result])}
        marks={marks}
        onCamera={move}
        left={HEADS_PX}
      >
        <Only
          only={arrangement.only}
          none={!lines.some((line) => line.kind === "group" && line.key !== "")}
          set={(only) => arrange({ only })}
        />
      </Minimap>
      {failure && <Problem failure={failure} retry={retry} />}
      <TimeCanvas
        scene={scene ?? result}
        camera={camera}
        lines={lines}
        all={all}
        picked={picked}
        onCamera={move}
        onArea={draw}
        onHover={(at) => {
          hoverAt.current = at;
        }}
        onScroll={(top, height) => setScroll({ top, height })}
        onArrow={walk}
        onPick={(i) => pick(i === null || !scene ? null : itemText(itemAt(scene, i, numbers)))}
        onOpen={(i) => {
          if (scene) move(around(...extent(scene, i), all));
        }}
        tooltip={(under) =>
          under.kind === "counter" ? (
            <CounterTip scene={scene ?? result} {...under} />
          ) : (
            scene && <Tip scene={scene} at={under.index} />
          )
        }
        heads={
          <Heads
            lines={lines}
            lanes={lanes}
            counters={(scene ?? result).counters}
            curves={(scene ?? result).curves}
            chosen={area?.tracks ?? null}
            onChoose={(id) => {
              if (area?.tracks) setArea({ ...area, tracks: otherwise(area.tracks, id) });
            }}
            onToggle={toggle}
            onPin={pin}
            onLift={lift}
            onGroup={(key) => arrange({ groups: flipped(arrangement.groups, key) })}
            onRaise={(key) => arrange({ order: raised(lines, key, arrangement.order) })}
            onLeave={(rank) =>
              go({
                ranks:
                  numbers
                    .slice(1)
                    .filter((one) => one !== rank)
                    .join(",") || null,
              })
            }
          />
        }
      />
      <p class="unseen" role="status" data-testid="timeline-told">
        {linked &&
          texts.told(
            linked.item.name,
            duration(linked.item.end_ns - linked.item.start_ns),
            linked.place,
            duration(linked.item.start_ns + (lane?.shift ?? 0)),
          )}
      </p>
      {area ? (
        <AreaSummary
          lanes={lanes}
          area={area}
          choose={(tracks) => setArea({ ...area, tracks })}
          close={() => {
            setArea(null);
            toCanvas();
          }}
        />
      ) : (
        item &&
        lane && (
          <Details
            links={links}
            rank={item.rank}
            span={selected.place.span}
            shift={lane.shift}
            show={showOf(place)}
            close={() => {
              pick(null);
              toCanvas();
            }}
          />
        )
      )}
    </div>
  );
}

function savePicture(page: HTMLElement, camera: Camera): void {
  const canvas = page.querySelector<HTMLCanvasElement>(".timeview>canvas");
  const title = texts.pictureTitle(duration(Math.round(camera.start)), duration(Math.round(camera.stop)));
  if (canvas)
    downloadPicture(
      "timeline.png",
      pictureWithLabels(canvas, [...page.querySelectorAll<HTMLElement>(".head")], title),
    );
}

const middle = (camera: Camera): number => (camera.start + camera.stop) / 2;

function Tip({ scene, at }: { scene: Drawn; at: number }) {
  const { rectangles: r } = scene;
  const many = r.count[at] ?? 1;
  const off = r.bound_ns[at] ?? 0;
  const look = scene.looks[r.look[at] ?? 0] ?? "measured";
  const module = scene.modules[r.module[at] ?? -1];
  const kind = texts.kinds[(scene.kinds[r.kind[at] ?? 0] ?? "kernel") as keyof typeof texts.kinds];
  return (
    <>
      <b class="wrap">{scene.names[r.name[at] ?? 0]}</b>
      <div>
        {many > 1
          ? texts.many(
              count(many - 1),
              duration(Math.round(r.busy_ns[at] ?? 0)),
              duration(Math.round(r.length_ns[at] ?? 0)),
            )
          : exactDuration(Math.round(r.length_ns[at] ?? 0))}
      </div>
      <div class="muted">
        {texts.kindAt(kind, duration(r.start_ns[at] ?? 0))}
        {look !== "measured" && (
          <>
            {off < 0 ? texts.after(texts.boundNotKnown) : ` ${bound(Math.round(off))}`}
            {texts.after("")}
            <i class={`swatch ${look}`} style={{ "--fill": "var(--kernel)" }} />
            {look === "bounded" ? texts.bounded : texts.inferred}
          </>
        )}
      </div>
      {module !== undefined && <div class="muted">{texts.ofModule(module)}</div>}
    </>
  );
}

function CounterTip({
  scene: { curves, stop_ns },
  counter,
  entry,
}: {
  scene: Drawn;
  counter: Counter;
  entry: number;
}) {
  const [value, off] = [curves.value[entry] ?? 0, curves.bound[entry] ?? 0];
  const until = entry + 1 < counter.first + counter.points ? (curves.at_ns[entry + 1] ?? 0) : stop_ns;
  const from = curves.at_ns[entry] ?? 0;
  return (
    <>
      <b class="wrap">{counter.label}</b>
      <div>
        {counted(value, counter.unit)}
        {counter.inferred &&
          (off < 0 ? texts.after(texts.boundNotKnown) : off > 0 ? ` ± ${counted(off, counter.unit)}` : "")}
      </div>
      <div class="muted">{texts.holds(duration(from), duration(Math.round(until - from)))}</div>
    </>
  );
}

const extent = (scene: Drawn, i: number): [number, number] => [
  scene.rectangles.start_ns[i] ?? 0,
  (scene.rectangles.start_ns[i] ?? 0) + (scene.rectangles.length_ns[i] ?? 0),
];

/** Between the two marks that were set last. */
const between = (marks: readonly number[]): Camera | null =>
  marks.length < 2 ? null : { start: Math.min(...marks.slice(-2)), stop: Math.max(...marks.slice(-2)) };

function spotAt(scene: Drawn, i: number, ranks: readonly number[]): ItemSpot {
  const { start_ns, length_ns, track, row } = scene.rectangles;
  const start = start_ns[i] ?? 0;
  return {
    ...itemAt(scene, i, ranks),
    track: track[i] ?? 0,
    row: row[i] ?? 0,
    start,
    end: start + (length_ns[i] ?? 0),
  };
}

/** The rectangle that shows a range: its own, or what it is drawn in together with others. */
function placeOf(
  { rectangles: r, table_names: tables }: Drawn,
  item: ItemKey,
  spot: ItemSpot | null,
  ranks: readonly number[],
): number | null {
  const table = tables.indexOf(item.table);
  const section = item.rank === null ? 0 : ranks.indexOf(item.rank, 1);
  let found: number | null = null;
  for (let i = 0; i < r.index.length; i += 1) {
    if (r.table[i] === table && r.index[i] === item.index && sectionOf(r.track[i] ?? 0) === section) return i;
    if (spot && r.track[i] === spot.track && r.row[i] === spot.row && (r.start_ns[i] ?? 0) <= spot.start)
      found = i;
  }
  return found;
}

function itemAt(scene: Drawn, i: number, ranks: readonly number[]): ItemKey {
  const { table, index, track } = scene.rectangles;
  const section = sectionOf(track[i] ?? 0);
  return {
    table: (scene.table_names[table[i] ?? 0] ?? "ops") as ItemKey["table"],
    index: index[i] ?? 0,
    rank: section === 0 ? null : (ranks[section] ?? null),
  };
}

function sectionsOf({ lanes, known }: Ranks): Section[] {
  return lanes.map(({ rank, base }, at) => ({
    rank,
    title: lanes.length > 1 ? texts.rank(rank, known[at]?.note ?? "") : null,
    counters: base.counters,
    tracks: base.tracks.map((track) => ({ ...track, id: trackId(at, track.id) })),
  }));
}

function lifted(list: readonly number[], one: number): number[] {
  const at = list.indexOf(one);
  return at > 0
    ? [...list.slice(0, at - 1), one, ...list.slice(at - 1).filter((other) => other !== one)]
    : [...list];
}

/** Operator to launch to kernel, and forward to backward. */
function arrowsOf(links: Links, lane: Lane, at: number): Arrow[] {
  const spot = (item: Item): ItemSpot => spotOf(item, lane, at);
  const own = spot(links.item);
  const from = links.launch ?? links.operator;
  const arrows: Arrow[] = [];
  if (links.item.table === "kernels" && from) arrows.push({ from: spot(from), to: own, kind: "launch" });
  for (const kernel of links.kernels) arrows.push({ from: own, to: spot(kernel), kind: "launch" });
  if (links.forward) arrows.push({ from: spot(links.forward), to: own, kind: "backward" });
  for (const back of links.backward) arrows.push({ from: own, to: spot(back), kind: "backward" });
  return arrows;
}

function matcher(find: string | null): ((name: string) => boolean) | null {
  if (!find) return null;
  const wanted = find.toLowerCase();
  return (name) => name.toLowerCase().includes(wanted);
}
