// A share says of what it is one.
import { expect, test } from "vitest";
import { en } from "../../src/i18n/en";
import { loadedLater } from "../../src/i18n/en/loaded-later";

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

test("no header is 'Share' alone", () => {
  expect(textsOf({ ...en, ...loadedLater }).filter((text) => /^(share|%)$/i.test(text))).toEqual([]);
});
