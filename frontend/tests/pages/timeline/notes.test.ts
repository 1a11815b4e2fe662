// Notes of the reader in the URL: what they hold, and what they never hold.
import { afterAll, describe, expect, test, vi } from "vitest";
import { inTensorBoard } from "../../support/browser";

inTensorBoard("http://host/");
const { LONGEST, notesText, parseNotes } = await import("../../../src/pages/timeline/notes");

afterAll(() => vi.unstubAllGlobals());

describe("notes", () => {
  test("come back as they were", () => {
    const notes = [
      { start: 1200, stop: 1200, text: "warm-up; still ~ compiling, 100 %" },
      { start: -5, stop: 4000, text: "<b>not bold</b> \\ & 中文" },
    ];
    expect(parseNotes(notesText(notes))).toEqual(notes);
    expect(notesText([])).toBeNull();
    expect(parseNotes(null)).toEqual([]);
  });
  test("are short, on one line, and few", () => {
    const long = { start: 1, stop: 1, text: `a\nb\u0000\t${"c".repeat(500)}` };
    const [note] = parseNotes(notesText([long]));
    expect(note?.text).toHaveLength(LONGEST);
    expect(note?.text.startsWith("a b c")).toBe(true);
    const many = Array.from({ length: 40 }, (_, i) => ({ start: i, stop: i, text: `n${i}` }));
    expect(parseNotes(notesText(many))).toHaveLength(12);
    expect(parseNotes(many.map((one) => `${one.start}~${one.text}`).join(";"))).toHaveLength(12);
  });
  test.each(["x~y", "1~", "1~ \n", "1..~a", "~a", "99999999999999999~a", "1"])("%s is none", (text) => {
    expect(parseNotes(text)).toEqual([]);
  });
  test("a range is in order", () => {
    expect(parseNotes("9..3~a")).toEqual([{ start: 3, stop: 9, text: "a" }]);
  });
});
