// A function of the program and the line of a call: its path to copy, a link into the reader's editor.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { ProgramFunction } from "../../api/types";
import { copy } from "../../lib/dom";
import {
  EDITORS,
  editorLink,
  faultOf,
  parseEditor,
  parsePaths,
  pathHere,
  pathsText,
  USUAL,
  type Editor,
} from "../../lib/editor-link";
import { placeOf, withoutFolders } from "../../lib/python-stack";
import { store, stored } from "../../preference";
import { isAlone } from "../../state/links";
import { t } from "../../i18n";
import { Modal } from "../../widgets/controls/modal";
import "./source-link.css";

const texts = t.sourceLink;

/** The reader's, not the link's: kept in the browser, if it allows that. */
const KEY = "editor";
const editor = signal<Editor>(parseEditor(stored(KEY)) ?? USUAL);

function keep(next: Editor): void {
  editor.value = next;
  store(KEY, JSON.stringify(next));
}

/** A function with its file's name, the line of the call where it is known, and the function inside. */
export function FunctionLink({ where }: { where: ProgramFunction }) {
  const { title, file, near_line: line, call_lines: calls, call_known_from: from, inner } = where;
  return (
    <span class="function" data-testid="function" data-title={title}>
      <ShortSourceLink file={file} line={line} name={withoutFolders(title)} />
      {from === "source" && (
        <span class="muted" title={texts.knownFrom[from]} data-testid="call-line" data-value={calls.join()}>
          {" "}
          {texts.callLine(calls)}
        </span>
      )}
      {inner !== null && (
        <span class="muted" title={texts.innerHelp}>
          {" "}
          → {withoutFolders(inner)}
        </span>
      )}
    </span>
  );
}

/** A function by its title; nothing of a name that is none. */
export function TitleLink({ title }: { title: string | null }) {
  const place = placeOf(title);
  return place && title ? <ShortSourceLink {...place} name={withoutFolders(title)} /> : null;
}

interface ShortProps {
  file: string;
  line: number;
  name: string;
}

/** A link into the editor, or a button that copies the path where the file is not found. */
export function ShortSourceLink({ file, line, name: text }: ShortProps) {
  const [copied, setCopied] = useState(false);
  const path = `${file}:${line}`;
  const name = <code>{text}</code>;
  const link = isAlone() ? null : editorLink(file, line, editor.value);
  if (link)
    return (
      <a href={link} title={`${path}\n${texts.open}`} data-testid="source">
        {name}
      </a>
    );
  return (
    <button
      type="button"
      class="link"
      title={`${path}\n${texts.copyPath}`}
      data-testid="source"
      onClick={() => void copy(path).then(setCopied)}
    >
      {copied ? texts.copied : name}
    </button>
  );
}

export function SourceLink({ file, line }: { file: string; line: number }) {
  const [copied, setCopied] = useState(false);
  const [asking, setAsking] = useState(false);
  const path = `${file}:${line}`;
  const link = editorLink(file, line, editor.value);
  return (
    <>
      <code class="wrap">{path}</code>{" "}
      <button
        type="button"
        class="quiet"
        data-testid="copy-path"
        onClick={() => void copy(path).then(setCopied)}
      >
        {copied ? texts.copied : texts.copyPath}
      </button>
      {link && (
        <a href={link} data-testid="open-in-editor" title={link}>
          {texts.open}
        </a>
      )}{" "}
      <button
        type="button"
        class="quiet"
        title={texts.settingsHelp}
        data-testid="editor-settings"
        onClick={() => setAsking(true)}
      >
        {link ? texts.settings : texts.openWith}
      </button>
      {asking && (
        <Modal
          label={texts.editor}
          class="editorsettings"
          testid="editor-dialog"
          close={() => setAsking(false)}
        >
          <Settings file={file} line={line} close={() => setAsking(false)} />
        </Modal>
      )}
    </>
  );
}

function Settings({ file, line, close }: { file: string; line: number; close: () => void }) {
  const [template, setTemplate] = useState(editor.value.template);
  const [paths, setPaths] = useState(pathsText(editor.value.paths));
  const next = { template, paths: parsePaths(paths) };
  const fault = faultOf(template);
  const link = editorLink(file, line, next);
  return (
    <form
      onKeyDown={(e) => e.stopPropagation()}
      onSubmit={(e) => {
        e.preventDefault();
        if (!fault) {
          keep(next);
          close();
        }
      }}
    >
      <h2>{texts.editor}</h2>
      <EditorChoice template={template} pick={setTemplate} />
      <label>
        {texts.address()}{" "}
        <input
          type="text"
          value={template}
          spellcheck={false}
          data-testid="editor-template"
          onInput={(e) => setTemplate(e.currentTarget.value)}
        />
      </label>
      {fault && (
        <p class="warn" role="status">
          {fault}
        </p>
      )}
      <label>
        {texts.places()}
        <textarea
          rows={3}
          value={paths}
          spellcheck={false}
          data-testid="editor-paths"
          placeholder={texts.placesExample}
          onInput={(e) => setPaths(e.currentTarget.value)}
        />
      </label>
      <p class="muted">{texts.placesHelp()}</p>
      <p class="wrap" data-testid="editor-example">
        {link ?? texts.noWholePath(pathHere(file, next))}
      </p>
      <Buttons
        fault={fault}
        reset={() => {
          setTemplate(USUAL.template);
          setPaths("");
        }}
        close={close}
      />
    </form>
  );
}

function EditorChoice({ template, pick }: { template: string; pick: (template: string) => void }) {
  const named = Object.entries(EDITORS).find(([, one]) => one === template)?.[0] ?? "";
  return (
    <label>
      {texts.editor}{" "}
      <select
        value={named}
        data-testid="editor-name"
        onChange={(e) => {
          const chosen = EDITORS[e.currentTarget.value];
          if (chosen) pick(chosen);
        }}
      >
        {Object.keys(EDITORS).map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
        <option value="">{texts.another}</option>
      </select>
    </label>
  );
}

interface ButtonsProps {
  /** Why it cannot be saved. */
  fault: string | null;
  reset: () => void;
  close: () => void;
}

function Buttons({ fault, reset, close }: ButtonsProps) {
  return (
    <p>
      <button type="submit" disabled={fault !== null} data-testid="editor-save">
        {texts.save}
      </button>{" "}
      <button type="button" class="quiet" onClick={reset}>
        {texts.reset}
      </button>{" "}
      <button type="button" class="quiet" onClick={close}>
        {texts.cancel}
      </button>
    </p>
  );
}
