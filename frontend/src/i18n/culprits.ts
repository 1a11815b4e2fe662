// The texts of ranks that keep others waiting, apart from `t`: the first page does without them.
import { language } from ".";
import { culprits as english } from "./en/pages/culprits";
import { withEnglish } from "./translation";

export const culprits =
  language === "zh" ? withEnglish(english, (await import("./zh/zh-culprits")).culprits) : english;
