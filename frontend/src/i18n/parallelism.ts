// The texts of axes of parallelism on the page *Ranks*, apart from `t`: the first page does without them.
import { language } from ".";
import { parallelism as english } from "./en/pages/distributed-parallelism";
import { withEnglish } from "./translation";

export const parallelism =
  language === "zh" ? withEnglish(english, (await import("./zh/zh-parallelism")).parallelism) : english;
