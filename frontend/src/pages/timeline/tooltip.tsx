// The tooltip: a range, several of them in one rectangle, or a counter's value.
import { bound, count, counted, duration, exactDuration, percent, timeIn } from "../../lib/format";
import { t } from "../../i18n";
import type { Counter, HitTarget } from "../../widgets/timeline/scene";
import type { DrawnScene } from "./lanes";

const texts = t.timeline;

/** `base` stands in for the counters until a scene is there. */
export function Tooltip({
  scene,
  base,
  under,
  window_ns,
}: {
  scene: DrawnScene | null;
  base: DrawnScene;
  under: HitTarget;
  /** The length of what is shown: times are as exact. */
  window_ns: number;
}) {
  if (under.kind === "counter") return <CounterTip scene={scene ?? base} {...under} />;
  if (under.kind === "summary") return <SummaryTip {...under} />;
  return scene && <Tip scene={scene} at={under.index} window_ns={window_ns} />;
}

function Tip({ scene, at, window_ns }: { scene: DrawnScene; at: number; window_ns: number }) {
  const { rectangles: r } = scene;
  const many = r.count[at] ?? 1;
  const off = r.bound_ns[at] ?? 0;
  const look = scene.looks[r.look[at] ?? 0] ?? "measured";
  const full = scene.full_names[r.name[at] ?? 0];
  const module = scene.modules[r.module[at] ?? -1];
  const launcher = scene.launchers[r.launcher[at] ?? -1];
  const kind = texts.kinds[(scene.kinds[r.kind[at] ?? 0] ?? "kernel") as keyof typeof texts.kinds];
  return (
    <>
      <b class="wrap">{scene.names[r.name[at] ?? 0]}</b>
      {full && <div class="muted wrap">{full}</div>}
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
        {texts.kindAt(kind, timeIn(r.start_ns[at] ?? 0, window_ns))}
        {look !== "measured" && (
          <>
            {off < 0 ? texts.after(texts.boundNotKnown) : ` ${bound(Math.round(off))}`}
            {scene.shift_bound_ns > 0 && texts.after(texts.allStarts(bound(scene.shift_bound_ns)))}
            {texts.after("")}
            <i class={`swatch ${look}`} style={{ "--fill": "var(--kernel)" }} />
            {look === "bounded" ? texts.bounded : texts.inferred}
          </>
        )}
      </div>
      {launcher !== undefined && <div class="muted">{texts.launchedBy(launcher)}</div>}
      {module !== undefined && <div class="muted">{texts.ofModule(module)}</div>}
    </>
  );
}

/** The busy share of a device in a part of the window, by family. */
function SummaryTip({ device: { families, start, stop, inferred }, part }: SummaryProps) {
  const parts = families[0]?.per_mille.length ?? 1;
  const shares = families.map(({ kind, per_mille }) => ({ kind, share: (per_mille[part] ?? 0) / 1000 }));
  const busy = shares.reduce((sum, one) => sum + one.share, 0);
  const length = (stop - start) / parts;
  return (
    <>
      <b>{texts.busyOf(percent(Math.min(1, busy)))}</b>
      {inferred && <div class="muted">{texts.inferred}</div>}
      {shares
        .filter((one) => one.share > 0)
        .map(({ kind, share }) => (
          <div key={kind}>{`${t.operators.categories[kind]} ${percent(share)}`}</div>
        ))}
      <div class="muted">
        {texts.holds(duration(Math.round(start + part * length)), duration(Math.round(length)))}
      </div>
    </>
  );
}

type SummaryProps = Extract<HitTarget, { kind: "summary" }>;

function CounterTip({
  scene: { curves, stop_ns },
  counter,
  entry,
}: {
  scene: DrawnScene;
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
