import { expect, test } from "vitest";
import {
  editorLink,
  faultOf,
  parseEditor,
  parsePaths,
  pathHere,
  pathsText,
  USUAL,
  type Editor,
} from "../../src/lib/editor-link";

const mapped = (...paths: [string, string][]): Editor => ({ ...USUAL, paths });

test.each([
  ["/home/a b/x.py", "vscode://file/{path}:{line}", "vscode://file/home/a%20b/x.py:7"],
  ["/home/x.py", "idea://open?file={path}&line={line}", "idea://open?file=/home/x.py&line=7"],
  [
    "/home/x.py",
    "vscode://vscode-remote/ssh-remote+host{path}:{line}",
    "vscode://vscode-remote/ssh-remote+host/home/x.py:7",
  ],
  ["C:\\work\\x.py", "vscode://file/{path}:{line}", "vscode://file/C:/work/x.py:7"],
  ["/a?b#c&d%/x.py", "vscode://file/{path}:{line}", "vscode://file/a%3Fb%23c%26d%25/x.py:7"],
  ["/$&/x.py", "vscode://file/{path}:{line}", "vscode://file/%24%26/x.py:7"],
])("%s in %s", (file, template, expected) =>
  expect(editorLink(file, 7, { template, paths: [] })).toBe(expected),
);

test("paths are those of this machine", () => {
  const editor = mapped(["/workspace", "/home/me/p/"], ["", "/src"], ["/opt/", "/x"]);
  expect(pathHere("/workspace/a/b.py", editor)).toBe("/home/me/p/a/b.py");
  expect(pathHere("/workspaces/a.py", editor)).toBe("/workspaces/a.py");
  expect(pathHere("model.py", editor)).toBe("/src/model.py");
  expect(pathHere("/opt/a.py", editor)).toBe("/x/a.py");
  expect(editorLink("model.py", 3, USUAL)).toBe(null);
  expect(editorLink("model.py", 3, editor)).toBe("vscode://file/src/model.py:3");
});

test("only what an editor can be asked with", () => {
  for (const template of [
    "javascript:alert('{path}')",
    " JavaScript:{path}",
    "data:text/html,{path}",
    "{path}",
    "vscode://file",
    "file://{path}",
  ]) {
    expect(faultOf(template)).not.toBe(null);
    expect(editorLink("/x.py", 1, { template, paths: [] })).toBe(null);
  }
  expect(faultOf("my-editor+x://{path}")).toBe(null);
});

test("what is kept is read again", () => {
  const paths = parsePaths("/a => /b\n\n=> /c\nno arrow\n/d =>");
  expect(paths).toEqual([
    ["/a", "/b"],
    ["", "/c"],
  ]);
  expect(parsePaths(pathsText(paths))).toEqual(paths);
  const editor = mapped(...paths);
  expect(parseEditor(JSON.stringify(editor))).toEqual(editor);
  for (const text of [null, "", "{", "3", '{"template": 3, "paths": []}', '{"template": "x"}'])
    expect(parseEditor(text)).toBe(null);
  expect(parseEditor('{"template": "x", "paths": [["a"], ["a", "b"], 3]}')?.paths).toEqual([["a", "b"]]);
});
