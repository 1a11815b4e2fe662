// The theme's colors for a canvas, which knows no CSS variables.
import { useEffect, useState } from "preact/hooks";

/** The colors of the theme in force. */
export interface Palette {
  of: Readonly<Record<string, string>>;
  names: readonly string[];
  /** Of what belongs to nothing. */
  none: string;
  ink: string;
  muted: string;
  rule: string;
  ground: string;
  sunken: string;
  accent: string;
  /** The text on a rectangle: dark or light, whichever is read better on its color. */
  onto: (fill: string) => string;
}

/** What each kind of rectangle is drawn in: the categories' colors, and tints for host ranges. */
const KINDS: Readonly<Record<string, string>> = {
  kernel: "--kernel",
  memcpy: "--memcpy",
  memset: "--memset",
  communication: "--communication",
  unknown: "--unknown",
  operator: "--cpu",
  annotation: "--annotation",
  dataloader: "--dataloader",
  runtime: "--runtime",
  synchronization: "--synchronization",
  frame: "--other",
  step: "--rule",
};

/** Another number whenever the colors change: what is drawn on a canvas has to be drawn again. */
export function useColors(): number {
  const [look, setLook] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setLook((n) => n + 1));
    observer.observe(document.documentElement, { attributeFilter: ["data-theme", "data-palette"] });
    return () => observer.disconnect();
  }, []);
  return look;
}

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  const light = new Map<string, string>();
  return {
    of: Object.fromEntries(Object.entries(KINDS).map(([kind, name]) => [kind, of(name)])),
    names: ["--kernel", "--memcpy", "--memset", "--communication", "--runtime", "--dataloader", "--cpu"].map(
      of,
    ),
    none: of("--other"),
    ink: of("--ink"),
    muted: of("--muted"),
    rule: of("--rule"),
    ground: of("--ground"),
    sunken: of("--sunken"),
    accent: of("--accent"),
    onto: (fill) => {
      const known = light.get(fill) ?? (luminance(fill) > 0.3 ? "#111" : "#fff");
      light.set(fill, known);
      return known;
    },
  };
}

/** Relative luminance of `#rrggbb`, 0 to 1 (WCAG 2). */
function luminance(hex: string): number {
  const part = (at: number): number => {
    const c = parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}
