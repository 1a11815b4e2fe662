import type { steplink as english } from "../en/steplink";

export const steplink: typeof english = {
  title: (name) => `${name}\n在时间线中显示`,
};
