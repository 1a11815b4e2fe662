// The texts of the section of compilation, apart from `t`: most recordings have no compiled code.
import { language } from ".";
import { compilation as english } from "./en/pages/compilation";
import { withEnglish } from "./translation";

export const compilation =
  language === "zh" ? withEnglish(english, (await import("./zh/zh-compilation")).compilation) : english;
