// What the columns of SQL's tables mean: `TABLES` of the API has it in English.
import { language } from ".";

const meanings = language === "zh" ? (await import("./zh/zh-columns")).MEANINGS : {};

/** The same in the reader's language. */
export const columnMeaning = (english: string): string => meanings[english] ?? english;
