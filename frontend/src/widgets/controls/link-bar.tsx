// Links side by side or one below the other: one stop of the Tab key, arrow keys go from link to link.
import type { ComponentChildren } from "preact";

export interface BarLink {
  key: string;
  testid: string;
  link: { href?: string; onClick?: (event: MouseEvent) => void };
  title?: string;
  isCurrent: boolean;
  children: ComponentChildren;
}

interface LinkBarProps {
  class: string;
  label: string;
  links: readonly BarLink[];
}

const BACK = ["ArrowLeft", "ArrowUp"];
const ON = ["ArrowRight", "ArrowDown"];

export function LinkBar({ class: name, label, links }: LinkBarProps) {
  const stop = Math.max(
    0,
    links.findIndex((one) => one.isCurrent),
  );
  return (
    <div class={name} role="group" aria-label={label} onKeyDown={turn}>
      {links.map((one, i) => (
        <a
          key={one.key}
          {...one.link}
          tabIndex={i === stop ? 0 : -1}
          aria-current={one.isCurrent ? "page" : undefined}
          title={one.title}
          data-testid={one.testid}
        >
          {one.children}
        </a>
      ))}
    </div>
  );
}

/** The focus goes to the link before or behind, around the ends. */
function turn(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const by = BACK.includes(event.key) ? -1 : ON.includes(event.key) ? 1 : 0;
  const links = [...event.currentTarget.querySelectorAll("a")];
  const at = links.indexOf(event.target as HTMLAnchorElement);
  if (by === 0 || at < 0) return;
  links.at((at + by) % links.length)?.focus();
  event.preventDefault();
}
