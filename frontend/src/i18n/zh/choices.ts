import { count } from "../count";
import type { choices as english } from "../en/choices";

export const choices: typeof english = {
  ranks: (n) => `${count(n)} 个 rank`,
  all: "全部",
  noSteps: "trace 中没有迭代",
  incomplete: (duration) => `${duration} 不完整`,
};
