// The texts of the section of serving, apart from `t`: most recordings have no such iterations.
import { language } from ".";
import { serving as english } from "./en/pages/serving";
import { withEnglish } from "./translation";

export const serving =
  language === "zh" ? withEnglish(english, (await import("./zh/zh-serving")).serving) : english;
