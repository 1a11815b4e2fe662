// The texts of the page *Compare*, apart from `t`: the first page does without them.
import { language } from ".";
import * as english from "./en/pages/diff";
import { withEnglish } from "./translation";

export const compare = language === "zh" ? withEnglish(english, await import("./zh/zh-diff")) : english;
