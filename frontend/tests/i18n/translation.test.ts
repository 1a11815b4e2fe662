import { expect, test } from "vitest";
import { missingTexts, withEnglish } from "../../src/i18n/translation";

const ENGLISH = {
  page: { title: "Title", calls: (n: number) => `${n} calls` },
  kinds: { kernel: "kernel", copy: "copy" },
};

test("a translated text replaces the English one", () => {
  const texts = withEnglish(ENGLISH, { page: { title: "标题", calls: (n) => `${n} 次` } });
  expect(texts.page.title).toBe("标题");
  expect(texts.page.calls(3)).toBe("3 次");
});

test("a text that is missing, alone or with its whole group, is shown in English", () => {
  const texts = withEnglish(ENGLISH, { page: { title: "标题" } });
  expect(texts.page.calls(3)).toBe("3 calls");
  expect(texts.kinds.copy).toBe("copy");
});

test("a text that is translated as nothing stays empty", () => {
  expect(withEnglish({ unit: "per" }, { unit: "" }).unit).toBe("");
});

test("the report names each text that is missing", () => {
  expect(missingTexts(ENGLISH, { page: { title: "标题" } })).toEqual([
    "page.calls",
    "kinds.kernel",
    "kinds.copy",
  ]);
  expect(missingTexts(ENGLISH, ENGLISH)).toEqual([]);
});
