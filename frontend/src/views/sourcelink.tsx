// A line of source: its path to copy, a link that opens it in the reader's editor, and which that is.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { copy } from "../base/dom";
import { EDITORS, editorLink, faultOf, parseEditor, parsePaths, pathHere, pathsText, USUAL, type Editor } from "../base/editor";
import { Modal } from "../widgets/modal";

/** The reader's, not the link's: kept in the browser, if it allows that. */
const KEY = "privateuse1.editor";
const editor = signal<Editor>(kept() ?? USUAL);

function kept(): Editor | null {
  try {
    return parseEditor(localStorage.getItem(KEY));
  } catch {
    return null;
  }
}

function keep(next: Editor): void {
  editor.value = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // Private browsing: until the page is left.
  }
}

export function SourceLink({ file, line }: { file: string; line: number }) {
  const [copied, setCopied] = useState(false);
  const [asking, setAsking] = useState(false);
  const path = `${file}:${line}`;
  const link = editorLink(file, line, editor.value);
  return (
    <>
      <code class="wrap">{path}</code>{" "}
      <button type="button" class="quiet" data-testid="copy-path" onClick={() => void copy(path).then(setCopied)}>{copied ? "copied" : "copy path"}</button>
      {link && <a href={link} data-testid="open-in-editor" title={link}>open in editor</a>}{" "}
      <button type="button" class="quiet" title="Which editor opens it, and where its files are" data-testid="editor-settings" onClick={() => setAsking(true)}>{link ? "editor…" : "open in editor…"}</button>
      {asking && <Modal label="Editor" class="editorsettings" testid="editor-dialog" close={() => setAsking(false)}><Settings file={file} line={line} close={() => setAsking(false)} /></Modal>}
    </>
  );
}

function Settings({ file, line, close }: { file: string; line: number; close: () => void }) {
  const [template, setTemplate] = useState(editor.value.template);
  const [paths, setPaths] = useState(pathsText(editor.value.paths));
  const next = { template, paths: parsePaths(paths) };
  const fault = faultOf(template);
  const link = editorLink(file, line, next);
  const named = Object.entries(EDITORS).find(([, one]) => one === template)?.[0] ?? "";
  return (
    <form onKeyDown={(e) => e.stopPropagation()} onSubmit={(e) => { e.preventDefault(); if (!fault) { keep(next); close(); } }}>
      <h2>Editor</h2>
      <label>Editor <select value={named} data-testid="editor-name" onChange={(e) => { const chosen = EDITORS[e.currentTarget.value]; if (chosen) setTemplate(chosen); }}>
        {Object.keys(EDITORS).map((name) => <option key={name} value={name}>{name}</option>)}
        <option value="">another</option>
      </select></label>
      <label>Its address, with <code>{"{path}"}</code> and <code>{"{line}"}</code> <input type="text" value={template} spellcheck={false} data-testid="editor-template" onInput={(e) => setTemplate(e.currentTarget.value)} /></label>
      {fault && <p class="warn" role="status">{fault}</p>}
      <label>Where files are: <code>there =&gt; here</code>, a line each
        <textarea rows={3} value={paths} spellcheck={false} data-testid="editor-paths" placeholder={"/workspace => /home/me/project\n=> /home/me/project"} onInput={(e) => setPaths(e.currentTarget.value)} />
      </label>
      <p class="muted">The first that a path begins with counts; nothing on the left stands for paths that are relative. On another machine: <code>vscode://vscode-remote/ssh-remote+host{"{path}:{line}"}</code></p>
      <p class="wrap" data-testid="editor-example">{link ?? `${pathHere(file, next)} is no whole path: say where it is.`}</p>
      <p><button type="submit" disabled={fault !== null} data-testid="editor-save">Save in this browser</button> <button type="button" class="quiet" onClick={() => { setTemplate(USUAL.template); setPaths(""); }}>As at first</button> <button type="button" class="quiet" onClick={close}>Cancel</button></p>
    </form>
  );
}
