// Links from one page to another.
import { go, linkTo, type State } from "../state";

export interface LinkProps {
  href: string;
  onClick: (event: MouseEvent) => void;
}

/** A plain click stays in the page; one with a modifier opens the link as links do. */
export function linkProps(changes: Partial<State>): LinkProps {
  const onClick = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    go(changes);
  };
  return { href: linkTo(changes), onClick };
}
