import { count } from "../count";
import type { doubts as english } from "../en/doubts";

export const doubts: typeof english = {
  severities: { error: "错误", warning: "警告", info: "提示" },
  summary: (errors, warnings, notes) =>
    [errors && `${count(errors)} 个错误`, warnings && `${count(warnings)} 个警告`].filter(Boolean).join("，") || (notes > 0 ? `${count(notes)} 个提示` : "没有疑点"),
  more: (n) => `另有 ${count(n)} 个疑点。`,
  quality: "数据质量",
};
