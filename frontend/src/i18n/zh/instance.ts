import type { instance as english } from "../en/instance";

export const instance: typeof english = {
  title: (name, thread, start) => `${name}\n${thread}\n采集开始后 ${start}\n显示其记录`,
  noName: "（无名称）",
  at: (thread, start, note) => `${thread}，位于 ${start}${note ? `，${note}` : ""}`,
};
