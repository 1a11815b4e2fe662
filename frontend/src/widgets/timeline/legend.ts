// What the colors of a timeline mean, and the scene without those that the reader hides.
import { nameColor } from "./painter";
import type { ColorBy, Rectangles, Scene } from "./scene";

/** A color that is shown, and how much of the scene it is. */
export interface LegendEntry {
  /** A kind, a name or a module; empty outside of modules. */
  key: string;
  busy: number;
}

const OUTSIDE = "";

/** The keys of a scene's rectangles as numbers, and each number's key. */
function keysOf({ rectangles: r, kinds, names, modules }: Scene, by: ColorBy) {
  if (by === "kind") return { keys: kinds, of: (i: number) => r.kind[i] ?? 0 };
  if (by === "name") return { keys: names, of: (i: number) => r.name[i] ?? 0 };
  const outside = modules.length;
  return {
    keys: [...modules, OUTSIDE],
    of: (i: number) => {
      const module = r.module[i] ?? -1;
      return module < 0 ? outside : module;
    },
  };
}

/** The colors of a scene: kinds in their order, names and modules by time. */
export function legendOf(scene: Scene, by: ColorBy): LegendEntry[] {
  const { keys, of } = keysOf(scene, by);
  const busy = new Float64Array(keys.length);
  const { busy_ns: ns, kind } = scene.rectangles;
  const step = scene.kinds.indexOf("step");
  for (let i = 0; i < ns.length; i += 1) {
    if (by !== "kind" && kind[i] === step) continue;
    busy[of(i)] = (busy[of(i)] ?? 0) + Math.max(1, ns[i] ?? 0);
  }
  const found = new Map<string, number>();
  keys.forEach((key, n) => {
    if ((busy[n] ?? 0) > 0) found.set(key, (found.get(key) ?? 0) + (busy[n] ?? 0));
  });
  const entries = [...found].map(([key, ns]) => ({ key, busy: ns }));
  return by === "kind" ? entries : entries.sort((a, b) => b.busy - a.busy);
}

/** The color of an entry, from the palette of names. */
export function nameEntryColor(key: string, colors: readonly string[], none: string): string {
  return key === OUTSIDE ? none : nameColor(key, colors);
}

/** The scene without the rectangles of hidden keys; the same one if nothing is hidden. */
export function withoutHidden<S extends Scene>(scene: S, by: ColorBy, hidden: ReadonlySet<string>): S {
  if (hidden.size === 0) return scene;
  const { keys, of } = keysOf(scene, by);
  const isHidden = keys.map((key) => hidden.has(key));
  const rows: number[] = [];
  for (let i = 0; i < scene.rectangles.row.length; i += 1) if (!isHidden[of(i)]) rows.push(i);
  return { ...scene, rectangles: taken(scene.rectangles, rows) };
}

function taken(rectangles: Rectangles, rows: readonly number[]): Rectangles {
  const columns = Object.entries(rectangles).map(([name, column]) => {
    const all = column as Rectangles[keyof Rectangles];
    const some = new (all.constructor as new (size: number) => typeof all)(rows.length);
    rows.forEach((row, i) => {
      some[i] = all[row] ?? 0;
    });
    return [name, some];
  });
  return Object.fromEntries(columns) as Rectangles;
}
