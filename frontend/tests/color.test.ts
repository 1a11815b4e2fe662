import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CATEGORIES, categoryOf } from "../src/base/color";

const CSS = readFileSync(new URL("../src/theme.css", import.meta.url), "utf8");

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

describe.each([["light", ":root"], ["dark", ':root[data-theme="dark"]']])("%s", (_, selector) => {
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
    for (const ground of ["ground", "raised", "warn-tint"]) expect(contrast(of("warn"), of(ground)), ground).toBeGreaterThanOrEqual(4.5);
    for (const text of ["ink", "muted", "accent"]) expect(contrast(of(text), of("warn-tint")), text).toBeGreaterThanOrEqual(4.5);
    expect(contrast(of("bad"), of("raised"))).toBeGreaterThanOrEqual(4.5);
  });
  test.each([...CATEGORIES, "edge", "longer", "shorter"])("%s stands out from the ground as graphics must (3:1)", (name) => {
    expect(contrast(of(name), of("ground"))).toBeGreaterThanOrEqual(3);
  });
  test("no two categories look alike", () => {
    const all = CATEGORIES.map(of);
    expect(new Set(all).size).toBe(CATEGORIES.length);
  });
});

test("a kind of activity has its category's colour", () => {
  expect(categoryOf("memcpy")).toBe("memcpy");
  expect(categoryOf("something new")).toBe("kernel");
});
