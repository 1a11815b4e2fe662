// The texts of the page *Roofline*, apart from `t`: the first page does without them.
import { language } from ".";
import { roofline as english } from "./en/pages/roofline";
import { withEnglish } from "./translation";

export const roofline =
  language === "zh" ? withEnglish(english, (await import("./zh/zh-roofline")).roofline) : english;
