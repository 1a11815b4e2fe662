import { count } from "../count";
import type { rankadvice as english } from "../en/rankadvice";

export const rankadvice: typeof english = {
  title: "建议",
  titleNote: (findings, link) => <>所有 rank 共 {count(findings)} 个问题；每个 rank 另有{link("自己的建议")}</>,
  symptoms: "表现为",
  ofStep: (time) => `平均迭代中的 ${time}`,
  ranks: (n) => (n === 1 ? "Rank" : `${count(n)} 个 rank`),
  rank: (rank) => `rank ${rank}`,
};
