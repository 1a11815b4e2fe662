// A button with a panel that opens below it and closes on Escape, outside click or focus.
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import "./popover.css";

interface PopoverProps {
  label: ComponentChildren;
  /** Said to those who do not see the label. */
  title: string;
  testid: string;
  class?: string;
  attributes?: Record<string, string>;
  disabled?: boolean;
  /** `close` also gives the focus back to the button. */
  children: (close: () => void) => ComponentChildren;
}

export function Popover({
  label,
  title,
  testid,
  class: name = "",
  attributes = {},
  disabled = false,
  children,
}: PopoverProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  useCloseOutside(root, open, setOpen);
  useOnPage(panel, open);
  return (
    <span
      class="popover"
      ref={root}
      onKeyDown={(e) => {
        if (e.key !== "Escape" || !open) return;
        e.stopPropagation();
        close();
      }}
    >
      <button
        type="button"
        ref={button}
        class={name}
        title={title}
        data-testid={testid}
        {...attributes}
        aria-haspopup="dialog"
        aria-expanded={open}
        disabled={disabled}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        <div
          class="popover-panel"
          ref={panel}
          role="dialog"
          aria-label={title}
          data-testid={`${testid}-panel`}
        >
          {children(close)}
        </div>
      )}
    </span>
  );
}

/** Closes on a click, and when the focus goes, somewhere else. */
function useCloseOutside(
  root: RefObject<HTMLElement | null>,
  open: boolean,
  setOpen: (open: boolean) => void,
): void {
  useEffect(() => {
    if (!open) return undefined;
    const outside = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
    };
  }, [root, open, setOpen]);
}

/** Moves a panel that would leave the page to the right. */
function useOnPage(panel: RefObject<HTMLElement | null>, open: boolean): void {
  useLayoutEffect(() => {
    const box = panel.current;
    if (!open || !box) return;
    box.style.translate = "";
    const over = box.getBoundingClientRect().right - (document.documentElement.clientWidth - 8);
    if (over > 0) box.style.translate = `${-over}px`;
  }, [panel, open]);
}
