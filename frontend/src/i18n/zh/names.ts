import type { names as english } from "../en/names";

export const names: typeof english = {
  "whole trace": "整个 trace",
  "(launched by no operator)": "（不由任何算子下发）",
  "(outside of modules)": "（模块之外）",
  "(outside of annotations)": "（标注之外）",
  "(outside of operators)": "（算子之外）",
};
