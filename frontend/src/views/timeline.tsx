// The timeline: every track of the trace, as fine as the screen can show.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Links, Timeline as Result } from "../api";
import { around, panned, showing, whole, zoomed, type Camera } from "../base/camera";
import { downloadPicture, isTyping } from "../base/dom";
import { bound, count, counted, duration, exactDuration } from "../base/format";
import { pictureWithLabels } from "../base/picture";
import { parseRange } from "../base/range";
import { isFolded, lanesText, layout, parseLanes } from "../base/tracks";
import { useView } from "../load";
import { stepNumber } from "../place";
import { go, state } from "../state";
import { Minimap } from "../widgets/minimap";
import { HEADS_PX, TimeCanvas } from "../widgets/timecanvas";
import { neighbour, type Arrow, type Counter } from "../widgets/scene";
import type { PageProps } from "./page";
import { Problem, Show } from "./status";
import { AreaSummary } from "./timelinearea";
import { densityOf, useScene } from "./timelinedata";
import { Details, parseItem, spotOf, useLinks, type ItemKey, type ItemSpot } from "./timelinedetails";
import { Export } from "./timelineexport";
import { Heads } from "./timelineheads";
import { Search, useSearch } from "./timelinesearch";

const PARTS = 600;

export function Timeline(props: PageProps) {
  const base = useView("timeline", props.selected, { tracks: "", width: PARTS }, null);
  return <Show resource={base}>{(result) => <Page key={props.selected.place.run} {...props} result={result} />}</Show>;
}

function Page({ selected, result, base }: PageProps & { result: Result }) {
  const end = result.end_ns;
  const { lanes, item: itemText, find, range, marks: marksText, step } = state.value;
  const [camera, move] = useCamera(firstCamera(end, step, base));
  const arrangement = useMemo(() => parseLanes(lanes), [lanes]);
  const lines = useMemo(() => layout(result.tracks, result.counters, arrangement), [result, arrangement]);
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const [width, setWidth] = useState(1000);
  const [area, setArea] = useState<Camera | null>(null);
  const [byName, setByName] = useState(false);
  const hoverAt = useRef<number | null>(null);
  /** What was picked here: only a link's range moves the camera. */
  const own = useRef<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const { scene, failure, busy, retry } = useScene(selected, result, camera, lines, arrangement, scroll, width);
  const item = useMemo(() => parseItem(itemText), [itemText]);
  const links = useLinks(selected, item);
  const linked = item && links.loaded.status === "ready" ? links.loaded.value : null;
  const search = useSearch(selected, find);
  const marks = useMemo(() => (marksText ?? "").split(",").filter((m) => /^\d{1,15}$/.test(m)).map(Number), [marksText]);
  const found = useMemo(() => matcher(find), [find]);
  const theme = document.documentElement.dataset["theme"] ?? "light";

  const pick = (text: string | null): void => {
    own.current = text;
    setArea(null);
    go({ item: text });
  };
  /** Picks a range wherever it is, and brings it to the screen. */
  const show = (spot: ItemSpot, zoom = false): void => {
    pick(`${spot.table}:${spot.index}`);
    const track = result.tracks.find((t) => t.id === spot.track);
    if (track && spot.row > 0 && isFolded(track, arrangement)) toggle(track.id);
    move(zoom ? around(spot.start, spot.end, end) : showing(camera, spot.start, spot.end, end));
    const line = lines.find((l) => l.kind === "track" && l.id === spot.track);
    const scroller = box.current?.querySelector(".timecanvas");
    if (line && scroller && (line.y < scroller.scrollTop || line.y + line.height > scroller.scrollTop + scroller.clientHeight)) {
      scroller.scrollTop = Math.max(0, line.y - 60);
    }
  };
  const toggle = (id: number): void => {
    const toggled = new Set(arrangement.toggled);
    if (!toggled.delete(id)) toggled.add(id);
    go({ lanes: lanesText({ ...arrangement, toggled }) }, "replace");
  };
  const pin = (id: number): void => {
    const pinned = arrangement.pinned.includes(id) ? arrangement.pinned.filter((p) => p !== id) : [...arrangement.pinned, id];
    go({ lanes: lanesText({ ...arrangement, pinned }) }, "replace");
  };
  const counters = (): void => go({ lanes: lanesText({ ...arrangement, counters: !arrangement.counters }) }, "replace");
  const mark = (): void => {
    const at = hoverAt.current ?? (linked ? linked.item.start_ns : (camera.start + camera.stop) / 2);
    const near = (camera.stop - camera.start) / 100;
    const rest = marks.filter((m) => Math.abs(m - at) > near);
    const next = rest.length < marks.length ? rest : [...marks, Math.max(0, Math.round(at))].slice(-8);
    go({ marks: next.join(",") || null }, "replace");
  };
  const keys: Record<string, () => void> = {
    w: () => move(zoomed(camera, 0.7, hoverAt.current ?? middle(camera), end)),
    s: () => move(zoomed(camera, 1 / 0.7, hoverAt.current ?? middle(camera), end)),
    a: () => move(panned(camera, -0.2, end)),
    d: () => move(panned(camera, 0.2, end)),
    f: () => { if (area) move(around(area.start, area.stop, end)); else if (linked) move(around(linked.item.start_ns, linked.item.end_ns, end)); },
    m: mark,
    0: () => move(whole(end)),
    x: () => setArea(between(marks) ?? camera),
    Escape: () => pick(null),
    n: () => search.next(1, show),
    N: () => search.next(-1, show),
  };
  useKeys(keys);
  const walk = (key: string): void => {
    if (!scene) return;
    const to = neighbour(scene, lines, camera, item && placeOf(scene, item, linked), key);
    if (to !== null) show(spotAt(scene, to));
    else if (key === "ArrowLeft" || key === "ArrowRight") move(panned(camera, key === "ArrowLeft" ? -0.5 : 0.5, end));
  };
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(100, Math.round(entry.contentRect.width - HEADS_PX))));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  // A link that names a range but no part of the recording shows the range. Effects run late: by now
  // another range may have been picked.
  useEffect(() => {
    if (linked && range === null && own.current !== itemText && state.value.item === itemText) show(spotOf(linked.item), true);
  }, [linked]);

  const picked = useMemo(() => ({ item: linked && spotOf(linked.item), area, marks, arrows: linked ? arrowsOf(linked) : [], found, byName }), [linked, area, marks, found, byName]);
  return (
    <div class="timeline fill" ref={box} aria-busy={busy} data-testid="timeline">
      <div class="toolbar">
        <Search find={find} search={search} show={show} />
        <button type="button" aria-pressed={byName} onClick={() => setByName(!byName)} title="Colour by name instead of by kind" data-testid="by-name">Colour by name</button>
        <button type="button" onClick={() => move(whole(end))} title="The whole recording (0)" data-testid="fit-all">Fit</button>
        <Export selected={selected} camera={camera} area={area} end={end} />
        <button type="button" class="quiet" title="Download the picture" data-testid="png-timeline" onClick={() => { if (box.current) savePicture(box.current, camera); }}>PNG</button>
        <span class="muted">{area ? <>{duration(Math.round(area.stop - area.start))} selected</> : marks.length > 1 ? <>marks: {duration(Math.abs((marks.at(-1) ?? 0) - (marks.at(-2) ?? 0)))} apart</> : "W S zoom, A D move, drag selects, ? for help"}</span>
      </div>
      <Minimap camera={camera} end={end} density={useMemo(() => densityOf(result, PARTS), [result])} marks={marks} onCamera={move} left={HEADS_PX} />
      {failure && <Problem failure={failure} retry={retry} />}
      <TimeCanvas scene={scene ?? result} camera={camera} lines={lines} end={end} picked={picked} theme={theme}
        onCamera={move} onArea={setArea} onHover={(at) => { hoverAt.current = at; }} onScroll={(top, height) => setScroll({ top, height })} onArrow={walk}
        onPick={(i) => pick(i === null || !scene ? null : itemAt(scene, i))}
        onOpen={(i) => { if (scene) move(around(...extent(scene, i), end)); }}
        tooltip={(under) => under.kind === "counter" ? <CounterTip scene={scene ?? result} {...under} /> : scene && <Tip scene={scene} at={under.index} />}
        heads={<Heads lines={lines} tracks={result.tracks} counters={(scene ?? result).counters} curves={(scene ?? result).curves} onCounters={counters} onToggle={toggle} onPin={pin} />} />
      <p class="unseen" role="status" data-testid="timeline-told">{linked && `${linked.item.name}, ${duration(linked.item.end_ns - linked.item.start_ns)}, ${linked.place}, at ${duration(linked.item.start_ns)}`}</p>
      {area ? <AreaSummary selected={selected} area={area} close={() => setArea(null)} />
        : item && <Details links={links} show={show} close={() => pick(null)} />}
    </div>
  );
}

function savePicture(page: HTMLElement, camera: Camera): void {
  const canvas = page.querySelector<HTMLCanvasElement>(".timeview canvas");
  const title = `${duration(Math.round(camera.start))} to ${duration(Math.round(camera.stop))}`;
  if (canvas) downloadPicture("timeline.png", pictureWithLabels(canvas, [...page.querySelectorAll<HTMLElement>(".head")], title));
}

const middle = (camera: Camera): number => (camera.start + camera.stop) / 2;

function Tip({ scene, at }: { scene: Result; at: number }) {
  const { rectangles: r } = scene;
  const many = r.count[at] ?? 1;
  const off = r.bound_ns[at] ?? 0;
  const look = scene.looks[r.look[at] ?? 0] ?? "measured";
  return (
    <>
      <b class="wrap">{scene.names[r.name[at] ?? 0]}</b>
      <div>{many > 1 ? <>and {count(many - 1)} more here, busy {duration(Math.round(r.busy_ns[at] ?? 0))} of {duration(Math.round(r.length_ns[at] ?? 0))}</> : exactDuration(Math.round(r.length_ns[at] ?? 0))}</div>
      <div class="muted">{scene.kinds[r.kind[at] ?? 0]} at {duration(r.start_ns[at] ?? 0)}{look !== "measured" && <>{off < 0 ? ", bound not known" : ` ${bound(Math.round(off))}`}, <i class={`swatch ${look}`} style={{ "--fill": "var(--kernel)" }} />{look === "bounded" ? "inferred, only limits are known" : "inferred"}</>}</div>
    </>
  );
}

function CounterTip({ scene: { curves, stop_ns }, counter, entry }: { scene: Result; counter: Counter; entry: number }) {
  const [value, off] = [curves.value[entry] ?? 0, curves.bound[entry] ?? 0];
  const until = entry + 1 < counter.first + counter.points ? (curves.at_ns[entry + 1] ?? 0) : stop_ns;
  const from = curves.at_ns[entry] ?? 0;
  return (
    <>
      <b class="wrap">{counter.label}</b>
      <div>{counted(value, counter.unit)}{counter.inferred && (off < 0 ? ", bound not known" : off > 0 ? ` ± ${counted(off, counter.unit)}` : "")}</div>
      <div class="muted">from {duration(from)} on, for {duration(Math.round(until - from))}</div>
    </>
  );
}

const extent = (scene: Result, i: number): [number, number] => [scene.rectangles.start_ns[i] ?? 0, (scene.rectangles.start_ns[i] ?? 0) + (scene.rectangles.length_ns[i] ?? 0)];

/** Between the two marks that were set last. */
const between = (marks: readonly number[]): Camera | null =>
  marks.length < 2 ? null : { start: Math.min(...marks.slice(-2)), stop: Math.max(...marks.slice(-2)) };

function spotAt({ rectangles: r, table_names: tables }: Result, i: number): ItemSpot {
  const start = r.start_ns[i] ?? 0;
  return { table: tables[r.table[i] ?? 0] as ItemSpot["table"], index: r.index[i] ?? 0, track: r.track[i] ?? 0, row: r.row[i] ?? 0, start, end: start + (r.length_ns[i] ?? 0) };
}

/** The rectangle that shows a range: its own, or what it is drawn in together with others. */
function placeOf(scene: Result, item: ItemKey, links: Links | null): number | null {
  const { rectangles: r, table_names: tables } = scene;
  const table = tables.indexOf(item.table);
  let found: number | null = null;
  for (let i = 0; i < r.index.length; i += 1) {
    if (r.table[i] === table && r.index[i] === item.index) return i;
    if (links && r.track[i] === links.item.track && r.row[i] === links.item.row && (r.start_ns[i] ?? 0) <= links.item.start_ns) found = i;
  }
  return found;
}

const itemAt = (scene: Result, i: number): string => `${scene.table_names[scene.rectangles.table[i] ?? 0]}:${scene.rectangles.index[i]}`;

/** Operator to launch to kernel, and forward to backward. */
function arrowsOf(links: Links): Arrow[] {
  const own = spotOf(links.item);
  const from = links.launch ?? links.operator;
  const arrows: Arrow[] = [];
  if (links.item.table === "kernels" && from) arrows.push({ from: spotOf(from), to: own, kind: "launch" });
  for (const kernel of links.kernels) arrows.push({ from: own, to: spotOf(kernel), kind: "launch" });
  if (links.forward) arrows.push({ from: spotOf(links.forward), to: own, kind: "backward" });
  for (const back of links.backward) arrows.push({ from: own, to: spotOf(back), kind: "backward" });
  return arrows;
}

function matcher(find: string | null): ((name: string) => boolean) | null {
  if (!find) return null;
  const wanted = find.toLowerCase();
  return (name) => name.toLowerCase().includes(wanted);
}

function firstCamera(end: number, step: number | null, overview: PageProps["base"]): Camera {
  const one = step === null ? undefined : overview.steps.find((s) => stepNumber(s.name) === step);
  return one ? around(one.start_ns, one.start_ns + one.duration_ns, end) : whole(end);
}

const SETTLED_MS = 300;

/** The camera, kept in the URL once it rests; Back and links move it. */
function useCamera(first: Camera): [Camera, (camera: Camera) => void] {
  const asked = parseRange(state.value.range);
  const [camera, setCamera] = useState<Camera>(asked ? { start: asked.start, stop: asked.end } : first);
  const written = useRef(state.value.range);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (state.value.range === written.current) return;
    written.current = state.value.range;
    setCamera(asked ? { start: asked.start, stop: asked.end } : first);
  }, [state.value.range]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const move = (next: Camera): void => {
    setCamera(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      written.current = `${Math.floor(next.start)}..${Math.ceil(next.stop)}`;
      go({ range: written.current }, "replace");
    }, SETTLED_MS);
  };
  return [camera, move];
}

function useKeys(keys: Record<string, () => void>): void {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      const act = now.current[event.key];
      if (!act) return;
      act();
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
