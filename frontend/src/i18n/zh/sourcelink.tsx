import type { sourcelink as english } from "../en/sourcelink";

export const sourcelink: typeof english = {
  copyPath: "复制路径",
  copied: "已复制",
  open: "在编辑器中打开",
  openWith: "在编辑器中打开…",
  settings: "编辑器…",
  settingsHelp: "用哪个编辑器打开，以及文件所在的位置",
  editor: "编辑器",
  another: "其他",
  address: () => <>编辑器的地址，含 <code>{"{path}"}</code> 与 <code>{"{line}"}</code></>,
  places: () => <>文件所在的位置：<code>采集机器上 =&gt; 本机</code>，每行一条</>,
  placesExample: "/workspace => /home/me/project（示例）\n=> /home/me/project",
  placesHelp: () => <>以路径开头匹配的第一条为准；左侧为空表示相对路径。文件在另一台机器上时：<code>vscode://vscode-remote/ssh-remote+host{"{path}:{line}"}</code></>,
  noWholePath: (path) => `${path} 不是完整路径：请指定其位置。`,
  save: "保存在此浏览器",
  reset: "恢复初始值",
  cancel: "取消",
};
