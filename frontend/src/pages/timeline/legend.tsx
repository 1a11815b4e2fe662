// The legend: what the colors on the screen mean. A click hides what has a color, or shows it again.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { joinNames, splitNames } from "../../lib/name-path";
import { go, state } from "../../state/url";
import { t } from "../../i18n";
import { paletteOf, useColors, type Palette } from "../../widgets/charts/canvas-colors";
import { legendOf, nameEntryColor } from "../../widgets/timeline/legend";
import type { ColorBy, Scene } from "../../widgets/timeline/scene";
import "./legend.css";

const texts = t.timeline;
const MOST = 14;
const NOBODY: ReadonlySet<string> = new Set();

/** What the URL says is hidden. */
export function useHidden(): ReadonlySet<string> {
  const { hide } = state.value;
  return useMemo(() => (hide === null ? NOBODY : new Set(splitNames(hide))), [hide]);
}

const setHidden = (keys: readonly string[]): void => {
  go({ hide: keys.length > 0 ? joinNames(keys) : null }, "replace");
};

interface LegendProps {
  scene: Scene;
  by: ColorBy;
  hidden: ReadonlySet<string>;
}

export function Legend({ scene, by, hidden }: LegendProps) {
  const box = useRef<HTMLDivElement>(null);
  const palette = usePalette(box);
  const entries = useMemo(() => legendOf(scene, by), [scene, by]);
  const shown = entries.slice(0, MOST);
  const others = entries.length - shown.length;
  const gone = [...hidden].filter((key) => !shown.some((one) => one.key === key));
  const only = (key: string): void => {
    const rest = entries.map((one) => one.key).filter((one) => one !== key);
    // A second time it brings all of them back.
    setHidden(rest.every((one) => hidden.has(one)) && !hidden.has(key) ? [] : rest);
  };
  const turn = (key: string): void =>
    setHidden(hidden.has(key) ? [...hidden].filter((one) => one !== key) : [...hidden, key]);
  return (
    <div class="timelegend" role="group" aria-label={texts.legend} ref={box} data-testid="timeline-legend">
      {[...shown.map((one) => one.key), ...gone].map((key) => (
        <button
          key={key}
          type="button"
          class="quiet"
          aria-pressed={!hidden.has(key)}
          title={`${labelOf(key, by)}\n${texts.legendHelp}`}
          data-testid="legend-entry"
          data-key={key}
          onClick={(e) => {
            if (e.shiftKey || e.detail > 1) only(key);
            else turn(key);
          }}
        >
          <i class="swatch" style={{ "--fill": palette ? colorOf(key, by, palette) : "transparent" }} />
          <span>{labelOf(key, by)}</span>
        </button>
      ))}
      {others > 0 && <span class="muted">{texts.moreColors(others)}</span>}
      {hidden.size > 0 && (
        <button type="button" class="link" data-testid="legend-all" onClick={() => setHidden([])}>
          {texts.showAll}
        </button>
      )}
    </div>
  );
}

/** The colors of the theme, once the legend is on the page. */
function usePalette(box: { current: Element | null }): Palette | null {
  const look = useColors();
  const [palette, setPalette] = useState<Palette | null>(null);
  useLayoutEffect(() => {
    if (box.current) setPalette(paletteOf(box.current));
  }, [box, look]);
  return palette;
}

const labelOf = (key: string, by: ColorBy): string =>
  by === "kind"
    ? (texts.kinds[key as keyof typeof texts.kinds] ?? key)
    : key === ""
      ? texts.outsideModules
      : key;

const colorOf = (key: string, by: ColorBy, palette: Palette): string =>
  by === "kind" ? (palette.of[key] ?? palette.muted) : nameEntryColor(key, palette.names, palette.none);
