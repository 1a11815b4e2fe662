// One choice of many: a button with a searchable list.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { MISSING } from "../../lib/format";
import { t } from "../../i18n";
import { Popover } from "./popover";
import "./picker.css";

export interface Choice {
  /** Null stands for the default, such as all steps. */
  value: string | number | null;
  label: string;
  /** A second, quieter word: a date, a size, a time. */
  note?: string;
  /** 0 to 1: the note as a bar; `slow` stands out. */
  bar?: number;
  slow?: boolean;
}

interface PickerProps {
  name: string;
  choices: readonly Choice[];
  value: string | number | null;
  onPick: (value: string | number | null) => void;
  testid: string;
}

/** More rows than anybody scrolls through; the search narrows. */
const MOST = 200;

export function Picker({ name, choices, value, onPick, testid }: PickerProps) {
  const now = choices.find((c) => c.value === value);
  const label = now?.label ?? String(value ?? MISSING);
  return (
    <Popover
      testid={testid}
      class="picker"
      title={`${name}: ${label}`}
      disabled={choices.length === 0}
      attributes={{ "data-value": String(value ?? "") }}
      label={
        <>
          <span class="muted">{name}</span> <b>{label}</b>
          {!now && choices.length > 0 && <span class="warn"> ?</span>}
          <Arrow />
        </>
      }
    >
      {(close) => (
        <List
          name={name}
          choices={choices}
          value={value}
          onPick={(v) => {
            close();
            onPick(v);
          }}
          testid={testid}
        />
      )}
    </Popover>
  );
}

function Arrow() {
  return (
    <svg class="arrow" viewBox="0 0 8 8" aria-hidden="true">
      <path d="M1 2.5 4 5.5 7 2.5" fill="none" stroke="currentColor" />
    </svg>
  );
}

function List({ name, choices, value, onPick, testid }: PickerProps) {
  const [search, setSearch] = useState("");
  const found = matching(choices, search);
  const [active, setActive] = useState(
    Math.max(
      0,
      choices.findIndex((c) => c.value === value),
    ),
  );
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  useEffect(
    () => list.current?.querySelector(".active")?.scrollIntoView({ block: "nearest" }),
    [active, search],
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    const to = target(event.key, active);
    const choice = found[active];
    if (to !== undefined) setActive(Math.max(0, Math.min(found.length - 1, to)));
    else if (event.key === "Enter" && choice) onPick(choice.value);
    else return;
    event.preventDefault();
  };
  const from = Math.max(0, Math.min(active - MOST / 2, found.length - MOST));
  const rows: ComponentChildren[] = found
    .slice(from, from + MOST)
    .map((choice, i) => (
      <Option
        key={choice.value}
        id={`${id}-${from + i}`}
        choice={choice}
        chosen={choice.value === value}
        active={from + i === active}
        onLook={() => setActive(from + i)}
        onPick={() => onPick(choice.value)}
      />
    ));
  return (
    <div class="picker-list">
      <Search
        name={name}
        value={search}
        list={id}
        active={`${id}-${active}`}
        testid={testid}
        onInput={(text) => {
          setSearch(text);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={id} ref={list} role="listbox" aria-label={name}>
        {rows}
      </ul>
      {found.length === 0 && <p class="muted">{t.widgets.picker.nothing}</p>}
      {found.length > MOST && <p class="muted">{t.widgets.picker.more(found.length - MOST)}</p>}
    </div>
  );
}

interface SearchProps {
  name: string;
  value: string;
  /** The ids of the list and of its active choice. */
  list: string;
  active: string;
  testid: string;
  onInput: (text: string) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

function Search({ name, value, list, active, testid, onInput, onKeyDown }: SearchProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <input
      ref={input}
      type="text"
      value={value}
      placeholder={t.widgets.picker.find(name)}
      aria-label={t.widgets.picker.find(name)}
      role="combobox"
      aria-expanded="true"
      aria-controls={list}
      aria-activedescendant={active}
      data-testid={`${testid}-search`}
      spellcheck={false}
      autocomplete="off"
      onInput={(e) => onInput(e.currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  );
}

/** Those that have all words of a search. */
function matching(choices: readonly Choice[], search: string): Choice[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return choices.filter((c) => words.every((w) => `${c.label} ${c.note ?? ""}`.toLowerCase().includes(w)));
}

/** The choice that a key moves to. */
function target(key: string, active: number): number | undefined {
  const steps: Record<string, number> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + 10,
    PageUp: active - 10,
  };
  return steps[key];
}

interface OptionProps {
  id: string;
  choice: Choice;
  chosen: boolean;
  active: boolean;
  onLook: () => void;
  onPick: () => void;
}

function Option({ id, choice, chosen, active, onLook, onPick }: OptionProps) {
  return (
    <li
      id={id}
      role="option"
      aria-selected={chosen}
      class={`${active ? "active" : ""} ${choice.slow ? "slow" : ""}`}
      data-value={String(choice.value ?? "")}
      onPointerMove={onLook}
      onClick={onPick}
    >
      <span class="name" title={choice.label}>
        {choice.label}
      </span>
      {choice.bar !== undefined && (
        <span class="minibar">
          <span style={{ width: `${choice.bar * 100}%` }} />
        </span>
      )}
      {choice.note && <span class="note">{choice.note}</span>}
    </li>
  );
}
