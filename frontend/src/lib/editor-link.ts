// Links that open a source file in the reader's editor, with the recording machine's paths mapped.
import { t } from "../i18n";

export interface Editor {
  /** A URL with `{path}` and `{line}`. */
  template: string;
  /** What the paths there begin with, and what they begin with here; the first that fits counts. */
  paths: readonly (readonly [string, string])[];
}

export const EDITORS: Readonly<Record<string, string>> = {
  "VS Code": "vscode://file/{path}:{line}",
  VSCodium: "vscodium://file/{path}:{line}",
  Cursor: "cursor://file/{path}:{line}",
  Zed: "zed://file/{path}:{line}",
  PyCharm: "pycharm://open?file={path}&line={line}",
  "IntelliJ IDEA": "idea://open?file={path}&line={line}",
};

export const USUAL: Editor = { template: "vscode://file/{path}:{line}", paths: [] };

const isAbsolute = (path: string): boolean => /^(\/|[A-Za-z]:[\\/]|\\\\)/.test(path);

/** What is wrong with a template; null if nothing is. What a browser would run is no editor. */
export function faultOf(template: string): string | null {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(template.trim())?.[1]?.toLowerCase();
  if (!scheme) return t.editorLink.noScheme;
  if (["javascript", "data", "vbscript", "blob", "file", "about"].includes(scheme))
    return t.editorLink.forbidden(scheme);
  return template.includes("{path}") ? null : t.editorLink.noPath;
}

/** The file's path on this machine. An empty beginning stands for all paths that are relative. */
export function pathHere(file: string, { paths }: Editor): string {
  for (const [there, here] of paths) {
    if (
      there === ""
        ? !isAbsolute(file)
        : file === there || file.startsWith(/[\\/]$/.test(there) ? there : `${there}/`)
    ) {
      const rest = file.slice(there.length).replace(/^[\\/]+/, "");
      return `${here.replace(/[\\/]+$/, "")}/${rest}`;
    }
  }
  return file;
}

/** The link; null where nobody knows where the file is, or the template is none. */
export function editorLink(file: string, line: number, editor: Editor): string | null {
  const path = pathHere(file, editor);
  if (!isAbsolute(path) || faultOf(editor.template) !== null) return null;
  const parts = path
    .replaceAll("\\", "/")
    .split("/")
    .map((part) => encodeURIComponent(part).replace(/^([A-Za-z])%3A$/, "$1:"));
  const encoded = parts.join("/");
  return editor.template
    .trim()
    .replace("/{path}", () => `/${encoded.replace(/^\/+/, "")}`)
    .replaceAll("{path}", () => encoded)
    .replaceAll("{line}", String(line));
}

/** `there => here`, a line each; a line without an arrow is left out. */
export function parsePaths(text: string): [string, string][] {
  return text.split("\n").flatMap((line): [string, string][] => {
    const at = line.indexOf("=>");
    const here = line.slice(at + 2).trim();
    return at < 0 || here === "" ? [] : [[line.slice(0, at).trim(), here]];
  });
}

export const pathsText = (paths: Editor["paths"]): string =>
  paths.map(([there, here]) => `${there} => ${here}`.trim()).join("\n");

/** What was kept; null for nothing and for what is none. */
export function parseEditor(text: string | null): Editor | null {
  try {
    const found = JSON.parse(text ?? "null") as Partial<Editor> | null;
    const pairs = found?.paths;
    if (typeof found?.template !== "string" || !Array.isArray(pairs)) return null;
    return {
      template: found.template,
      paths: pairs.filter(
        (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((one) => typeof one === "string"),
      ),
    };
  } catch {
    return null;
  }
}
