import type { ComponentChildren, VNode } from "preact";
import { expect, test } from "vitest";
import { en } from "../../src/i18n/en";
import { withEnglish } from "../../src/i18n/translation";
import { zh } from "../../src/i18n/zh";

const english = en.timeline;
const chinese = withEnglish(en, zh).timeline;

/** What a reader sees of it. */
function read(children: ComponentChildren): string {
  if (Array.isArray(children)) return children.map(read).join("");
  if (children !== null && typeof children === "object" && "props" in children)
    return read((children as VNode).props.children);
  return typeof children === "string" || typeof children === "number" ? String(children) : "";
}

test.each([
  [1, "1 range", "1 个区间"],
  [2, "2 ranges", "2 个区间"],
  [4144, "4,144 ranges", "4,144 个区间"],
])("%d in an interval", (ranges, en, zh) => {
  expect(read(english.area.selected(<b>5 ms</b>, ranges, false, false))).toBe(`5 ms selected, ${en}`);
  expect(read(chinese.area.selected(<b>5 ms</b>, ranges, false, false))).toBe(`已选取 5 ms，${zh}`);
});

test("a range is told with its place, if it has one", () => {
  expect(english.told("gemm", "2 us", "stream 7", "5 us")).toBe("gemm, 2 us, stream 7, at 5 us");
  expect(english.told("ProfilerStep#1", "9.55 ms", "", "6.09 ms")).toBe(
    "ProfilerStep#1, 9.55 ms, at 6.09 ms",
  );
  expect(chinese.told("gemm", "2 us", "stream 7", "5 us")).toBe("gemm，2 us，stream 7，位于 5 us");
  expect(chinese.told("ProfilerStep#1", "9.55 ms", "", "6.09 ms")).toBe(
    "ProfilerStep#1，9.55 ms，位于 6.09 ms",
  );
});
