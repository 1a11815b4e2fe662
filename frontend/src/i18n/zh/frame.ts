import type { frame as english } from "../en/frame";

export const frame: typeof english = {
  brand: "PrivateUse1",
  title: "PrivateUse1 性能分析",
  pages: "页面",
  showNames: "显示名称",
  iconsOnly: "仅显示图标",
};
