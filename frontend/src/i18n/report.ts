// The texts of the report, apart from `t`: the first page does without them.
import { language } from ".";
import { report as english } from "./en/pages/report";
import { withEnglish } from "./translation";

export const report =
  language === "zh" ? withEnglish(english, (await import("./zh/pages/report")).report) : english;
