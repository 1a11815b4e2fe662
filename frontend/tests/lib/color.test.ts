import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CLASS_NAMES, classColor } from "../../src/lib/class-color";
import { CATEGORIES, categoryOf } from "../../src/lib/color";

const CSS = readFileSync(new URL("../../src/app/theme.css", import.meta.url), "utf8");

function palette(selector: string): Record<string, string> {
  const start = CSS.indexOf(`${selector} {`);
  const block = CSS.slice(start, CSS.indexOf("}", start));
  return Object.fromEntries([...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6})/g)].map((m) => [m[1], m[2]]));
}

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

type Rgb = readonly number[];
const times = (matrix: readonly Rgb[], of: Rgb): number[] =>
  matrix.map((row) => row.reduce((sum, x, i) => sum + x * (of[i] ?? 0), 0));

function linear(hex: string): Rgb {
  return [1, 3, 5]
    .map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
}

/** Colors as seen without one of the three cones (Machado, Oliveira and Fernandes 2009, full severity). */
const without =
  (...matrix: Rgb[]) =>
  (rgb: Rgb): Rgb =>
    times(matrix, rgb).map((c) => Math.min(1, Math.max(0, c)));
const BLIND: Readonly<Record<string, (rgb: Rgb) => Rgb>> = {
  none: (rgb) => rgb,
  protanopia: without(
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ),
  deuteranopia: without(
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ),
  tritanopia: without(
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ),
};

/** Where equal distances are equally easy to see (OKLab, Ottosson 2020); black to white is 1. */
function oklab(rgb: Rgb): number[] {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    rgb,
  ).map(Math.cbrt);
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  );
}

describe.each([
  ["light", ":root"],
  ["dark", ':root[data-theme="dark"]'],
])("%s", (_, selector) => {
  const colors = palette(selector);
  const of = (name: string): string => {
    const hex = colors[name];
    if (hex === undefined) throw new Error(`theme.css has no --${name} for ${selector}`);
    return hex;
  };
  const grounds = ["ground", "raised", "sunken", "tint"];
  test.each(["ink", "muted", "accent"])("%s is readable on every ground", (name) => {
    for (const ground of grounds) expect(contrast(of(name), of(ground)), ground).toBeGreaterThanOrEqual(4.5);
  });
  test("warnings and errors are readable", () => {
    for (const ground of ["ground", "raised", "warn-tint"])
      expect(contrast(of("warn"), of(ground)), ground).toBeGreaterThanOrEqual(4.5);
    for (const text of ["ink", "muted", "accent"])
      expect(contrast(of(text), of("warn-tint")), text).toBeGreaterThanOrEqual(4.5);
    expect(contrast(of("bad"), of("raised"))).toBeGreaterThanOrEqual(4.5);
  });
  test.each([...CATEGORIES, "annotation", "edge", "longer", "shorter"])(
    "%s stands out from the ground as graphics must (3:1)",
    (name) => {
      expect(contrast(of(name), of("ground"))).toBeGreaterThanOrEqual(3);
    },
  );
  test("no two categories look alike", () => {
    const all = [...CATEGORIES, "annotation"].map(of);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("the palette for color blindness", () => {
  const LIGHT = ':root[data-palette="safe"]';
  const DARK = ':root[data-theme="dark"][data-palette="safe"]';
  describe.each([
    ["light", ":root", LIGHT],
    ["dark", ':root[data-theme="dark"]', DARK],
  ])("%s", (_, usual, selector) => {
    const colors = palette(selector);
    test("has each category, and nothing else", () =>
      expect(Object.keys(colors).sort()).toEqual([...CATEGORIES].sort()));
    test.each(CATEGORIES)("%s stands out from the ground (3:1)", (name) => {
      expect(contrast(colors[name] ?? "", palette(usual)["ground"] ?? "")).toBeGreaterThanOrEqual(3);
    });
    test.each(Object.entries(BLIND))("no two look alike: %s", (_kind, seen) => {
      const least = (of: Record<string, string>): number => {
        const places = CATEGORIES.map((name) => oklab(seen(linear(of[name] ?? ""))));
        return Math.min(
          ...places.flatMap((a, i) =>
            places.slice(i + 1).map((b) => Math.hypot(...a.map((x, k) => x - (b[k] ?? 0)))),
          ),
        );
      };
      expect(least(colors)).toBeGreaterThan(0.09);
      expect(least(colors)).toBeGreaterThan(least(palette(usual)) - 0.01);
    });
  });
});

describe("the classes of time", () => {
  const DARK = ':root[data-theme="dark"]';
  const property = (name: (typeof CLASS_NAMES)[number]): string => classColor(name).slice(6, -1);
  const far = (a: number[], b: number[]): number => Math.hypot(...a.map((x, k) => x - (b[k] ?? 0)));
  describe.each([
    ["light", ":root", ":root"],
    ["dark", DARK, DARK],
    ["light, for color blindness", ":root", ':root[data-palette="safe"]'],
    ["dark, for color blindness", DARK, `${DARK}[data-palette="safe"]`],
  ])("%s", (_, usual, selector) => {
    const colors = { ...palette(usual), ...palette(selector) };
    const hexes = CLASS_NAMES.map((name) => colors[property(name)] ?? "");
    test.each(CLASS_NAMES)("%s stands out from the ground (3:1)", (name) => {
      expect(contrast(colors[property(name)] ?? "", colors["ground"] ?? "")).toBeGreaterThanOrEqual(3);
    });
    test("each has its own color", () => expect(new Set(hexes).size).toBe(CLASS_NAMES.length));
    // How far categories are apart is tested above.
    test.each(Object.entries(BLIND))("neighbors differ: %s", (_kind, seen) => {
      const places = hexes.map((hex) => oklab(seen(linear(hex))));
      const isCategory = CLASS_NAMES.map((name) =>
        (CATEGORIES as readonly string[]).includes(property(name)),
      );
      const steps = places
        .slice(1)
        .flatMap((place, i) => (isCategory[i] && isCategory[i + 1] ? [] : [far(place, places[i] ?? [])]));
      expect(Math.min(...steps)).toBeGreaterThan(0.05);
    });
  });
});

test("a kind of activity has its category's color", () => {
  expect(categoryOf("memcpy")).toBe("memcpy");
  expect(categoryOf("something new")).toBe("kernel");
});
