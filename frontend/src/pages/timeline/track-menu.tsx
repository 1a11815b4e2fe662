// The context menu of a track's heading: by right click, or by the menu key or Shift+F10 on one of its
// buttons.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Line } from "../../widgets/timeline/track-layout";
import { copy } from "../../lib/dom";
import { t } from "../../i18n";
import "./track-menu.css";

const texts = t.trackMenu;

/** The heading whose menu is open, and where on the page. */
export interface MenuPlace {
  line: Line;
  x: number;
  y: number;
}

export interface MenuActions {
  onHide: (line: Line) => void;
  onPin: (id: number) => void;
  onFilter: (words: string) => void;
}

interface MenuProps extends MenuActions {
  at: MenuPlace;
  close: () => void;
}

interface Entry {
  name: "pin" | "hide" | "filter" | "copy";
  label: string;
  act: () => void;
}

function entriesOf({ at: { line }, onHide, onPin, onFilter }: MenuProps): Entry[] {
  const isTrack = line.kind === "track";
  const all: (Entry | false)[] = [
    isTrack && { name: "pin", label: line.pinned ? texts.unpin : texts.pin, act: () => onPin(line.id) },
    (isTrack || line.kind === "group") && { name: "hide", label: texts.hide, act: () => onHide(line) },
    line.kind !== "summary" && { name: "filter", label: texts.filter, act: () => onFilter(line.label) },
    { name: "copy", label: texts.copy, act: () => void copy(line.label) },
  ];
  return all.filter((one) => one !== false);
}

export function TrackMenu(props: MenuProps) {
  const { at, close } = props;
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = menu.current;
    if (!box) return undefined;
    // As far left and up as shows all of it.
    const { innerWidth, innerHeight } = window;
    box.style.left = `${Math.max(0, Math.min(at.x, innerWidth - box.offsetWidth))}px`;
    box.style.top = `${Math.max(0, Math.min(at.y, innerHeight - box.offsetHeight))}px`;
    const before = document.activeElement;
    box.querySelector("button")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [at]);
  return (
    <div
      class="trackmenu"
      role="menu"
      aria-label={texts.menuOf(at.line.label)}
      data-testid="track-menu"
      ref={menu}
      onKeyDown={(e) => {
        if (e.key === "Escape" || e.key === "Tab") close();
        else if (e.key === "ArrowDown" || e.key === "ArrowUp") step(e.currentTarget, e.key);
        else return;
        e.preventDefault();
        e.stopPropagation();
      }}
      onFocusOut={(e) => {
        if (!e.currentTarget.contains(e.relatedTarget as Node | null)) close();
      }}
    >
      {entriesOf(props).map(({ name, label, act }) => (
        <button
          key={name}
          type="button"
          role="menuitem"
          data-testid={`track-menu-${name}`}
          onClick={() => {
            act();
            close();
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** Moves the focus to the next entry, from the last to the first. */
function step(menu: HTMLElement, key: "ArrowDown" | "ArrowUp"): void {
  const entries: Element[] = [...menu.querySelectorAll("button")];
  const at = document.activeElement ? entries.indexOf(document.activeElement) : -1;
  (entries.at((at + (key === "ArrowDown" ? 1 : -1)) % entries.length) as HTMLElement).focus();
}

/** Whether a key press asks for a context menu. */
export const isMenuKey = ({ key, shiftKey }: KeyboardEvent): boolean =>
  key === "ContextMenu" || (key === "F10" && shiftKey);
