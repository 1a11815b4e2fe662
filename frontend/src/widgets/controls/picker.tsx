// One choice of many: a button with a searchable list.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { MISSING } from "../../lib/format";
import { t } from "../../i18n";
import { Popover } from "./popover";

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
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = choices.filter((c) =>
    words.every((w) => `${c.label} ${c.note ?? ""}`.toLowerCase().includes(w)),
  );
  const [active, setActive] = useState(
    Math.max(
      0,
      choices.findIndex((c) => c.value === value),
    ),
  );
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  useEffect(() => input.current?.focus(), []);
  useEffect(
    () => list.current?.querySelector(".active")?.scrollIntoView({ block: "nearest" }),
    [active, search],
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + 10,
      PageUp: active - 10,
    };
    const to = steps[event.key];
    const choice = found[active];
    if (to !== undefined) setActive(Math.max(0, Math.min(found.length - 1, to)));
    else if (event.key === "Enter" && choice) onPick(choice.value);
    else return;
    event.preventDefault();
  };
  const from = Math.max(0, Math.min(active - MOST / 2, found.length - MOST));
  const rows: ComponentChildren[] = found.slice(from, from + MOST).map((choice, i) => (
    <li
      key={choice.value}
      id={`${id}-${from + i}`}
      role="option"
      aria-selected={choice.value === value}
      class={`${from + i === active ? "active" : ""} ${choice.slow ? "slow" : ""}`}
      data-value={String(choice.value ?? "")}
      onPointerMove={() => setActive(from + i)}
      onClick={() => onPick(choice.value)}
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
  ));
  return (
    <div class="picker-list">
      <input
        ref={input}
        type="text"
        value={search}
        placeholder={t.widgets.picker.find(name)}
        aria-label={t.widgets.picker.find(name)}
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={`${id}-${active}`}
        data-testid={`${testid}-search`}
        spellcheck={false}
        autocomplete="off"
        onInput={(e) => {
          setSearch(e.currentTarget.value);
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
