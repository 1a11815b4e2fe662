// Chinese has the texts of English, with values of the same kind, and is tidy.
import { TABLES } from "../../src/api/types";
import { en as main } from "../../src/i18n/en";
import { loadedLater as englishLater } from "../../src/i18n/en/loaded-later";
import { zh as mainChinese } from "../../src/i18n/zh";
import { loadedLater as chineseLater } from "../../src/i18n/zh/loaded-later";
import { MEANINGS } from "../../src/i18n/zh/zh-columns";
import { textsOf } from "./bare-texts";
import { isNode, parse, type Sources } from "./sources";

/** What is the same in Chinese: names of formats, of files, of torch's concepts. */
export const SAME =
  /^[\W\d_]*$|^(Rank|rank|Kernel|kernel|[Mm]emcpy|[Mm]emset|CPU|SQL|CSV|PNG|JSON|URL|Parquet|Perfetto|Chrome JSON|p95|MFU|HFU|HTTP|PrivateUse1)$/;

const HAN = "[\\u3400-\\u9fff]";
/** No space between Chinese and Latin letters or figures, or punctuation of half the width after Chinese. */
const UNTIDY = new RegExp(`${HAN}[A-Za-z0-9%]|[A-Za-z0-9%]${HAN}|${HAN}[,;:!?]|[，。；：？！、（）] `);
const CHINESE = /[\u4e00-\u9fff]/;

function leaves(part: unknown, path: string): [string, unknown][] {
  if (typeof part !== "object" || part === null) return [[path, part]];
  return Object.entries(part).flatMap(([key, value]) => leaves(value, `${path}.${key}`));
}

/** Returns what is wrong with one text, or nothing. */
function wrong(text: unknown, original: unknown): string {
  if (original === undefined) return "English lacks it";
  if (typeof text !== typeof original) return `is a ${typeof text}, and English a ${typeof original}`;
  if (typeof text !== "string") return "";
  if ((text === "") !== (original === "")) return "one of both is empty";
  return SAME.test(text) || CHINESE.test(text) ? "" : "is not Chinese";
}

export function translations(
  english: unknown = { ...main, ...englishLater },
  chinese: unknown = { ...mainChinese, ...chineseLater },
): string[] {
  const originals = new Map(leaves(english, "t"));
  return leaves(chinese, "t").flatMap(([path, text]) => {
    const said = wrong(text, originals.get(path));
    return said ? [`zh ${path}: ${said}`] : [];
  });
}

/** Returns all texts of a file, as they are written. */
function written(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(written);
  if (typeof value !== "object" || value === null) return [];
  return [...(isNode(value) ? textsOf(value) : []), ...Object.values(value).flatMap(written)];
}

export const tidyChinese = (sources: Sources): string[] =>
  [...sources]
    .filter(([file]) => file.startsWith("i18n/zh/"))
    .flatMap(([file, text]) =>
      written(parse(file, text))
        .filter((said) => UNTIDY.test(said))
        .map((said) => `${file}: is not tidy: ${said}`),
    );

/** Meanings that are the same in each language. */
const NAMES = /^(External id|Python (module )?id|correlation id|ProfilerStep#N)$/;

/** The meaning of each column of SQL is in Chinese. */
export function columnMeanings(
  tables: Readonly<Record<string, readonly (readonly string[])[]>> = TABLES,
): string[] {
  const columns = Object.values(tables).flat();
  const meanings = new Set(columns.map(([, , meaning]) => meaning ?? ""));
  return [...meanings]
    .filter((meaning) => !NAMES.test(meaning) && !CHINESE.test(MEANINGS[meaning] ?? ""))
    .map((meaning) => `zh-columns.ts: lacks ${meaning}`);
}
