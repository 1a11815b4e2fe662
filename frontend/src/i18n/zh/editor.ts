import type { editor as english } from "../en/editor";

export const editor: typeof english = {
  noScheme: "必须以编辑器的名称加冒号开头，例如 vscode:",
  forbidden: (scheme) => `浏览器不会把 ${scheme}: 交给编辑器。`,
  noPath: "其中没有 {path}。",
};
