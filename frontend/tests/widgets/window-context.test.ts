// The windows that go into CSV files and pictures.
import { describe, expect, it } from "vitest";
import { csv } from "../../src/lib/csv";
import { windowLine, windowsOf } from "../../src/widgets/window-context";

const of = (text: string) => ({ window: { text } });

describe("windowsOf", () => {
  it("has the window of a result, and of a comparison both", () => {
    expect(windowsOf({ provenance: of("steady") }, {})).toEqual({ window: "steady" });
    const both = windowsOf({ provenance: of("now"), base: of("before") }, {});
    expect(both).toEqual({ window: "now", base_window: "before" });
    expect(windowLine(both)).toBe("before → now");
    expect(windowLine(windowsOf({ provenance: of("a"), base: of("a") }, {}))).toBe("a");
  });

  it("keeps the window around a lookup, and has none of several traces", () => {
    const around = { window: "1 ms to 2 ms" };
    expect(windowsOf({ items: [] }, around)).toBe(around);
    expect(windowsOf(null, around)).toBe(around);
    expect(windowsOf({ provenance: { window: null } }, around)).toEqual({});
    expect(windowLine({})).toBe("");
  });
});

describe("csv", () => {
  it("has the window in the last column of every row", () => {
    const text = csv(
      ["name", "ns"],
      [
        ["a", 1],
        ["b", null],
      ],
      { window: "steady: 1 ms, of 2 ms" },
    );
    expect(text.trim().split("\r\n")).toEqual([
      "name,ns,window",
      'a,1,"steady: 1 ms, of 2 ms"',
      'b,,"steady: 1 ms, of 2 ms"',
    ]);
  });
});
