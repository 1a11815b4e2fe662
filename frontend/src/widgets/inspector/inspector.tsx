// The one panel about the selection: at the right of the page; below it in narrow windows, and where the
// page's width is a scale of time.
// It lies in the frame's grid, wherever in the page it is drawn. Its size is the reader's, on all pages.
import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isCovered, isTyping } from "../../lib/dom";
import { onKeyDown } from "../../lib/tensorboard-host";
import { useLatestCallback } from "../../lib/use-latest-callback";
import { t } from "../../i18n";
import { useReturnFocus } from "../controls/return-focus";
import { PanelEdge } from "./panel-edge";
import { NARROW, storedSize, storeSize, type Side } from "./size";
import "./inspector.css";

const KEYS: Readonly<Record<Side, string>> = {
  right: "inspector.width",
  bottom: "inspector.height",
};

/** Of all that there are on a page: one lies over the other. */
const sizes = signal({ right: storedSize(KEYS.right), bottom: storedSize(KEYS.bottom) });

interface InspectorProps {
  testid: string;
  /** Said to those who do not see it. */
  label: string;
  /** What it tells of: `Kernel`. */
  kind: ComponentChildren;
  /** For tests. */
  value?: number;
  event?: string;
  /** Another one is over it: it stays as it is. */
  covered?: boolean;
  /** Below the page, whatever the width of the window. */
  below?: boolean;
  close: () => void;
  children: ComponentChildren;
}

export function Inspector(props: InspectorProps) {
  const { testid, label, kind, value, event, covered = false, below = false, close, children } = props;
  const panel = useRef<HTMLElement>(null);
  const side = useSide(below);
  const [size, setSize] = useSize(side);
  useReturnFocus();
  useEscape(!covered, close);
  return (
    <section
      ref={panel}
      class={`inspector ${side}`}
      data-testid={testid}
      data-value={value}
      data-event={event}
      aria-label={label}
      hidden={covered}
    >
      <PanelEdge panel={panel} side={side} chosen={size} set={setSize} />
      <header>
        <span class="muted">{kind}</span>
        <button
          type="button"
          class="quiet push"
          data-testid={`${testid}-close`}
          aria-label={t.widgets.panel.close}
          title={t.widgets.panel.closeHelp}
          onClick={close}
        >
          ✕
        </button>
      </header>
      <div class="body">{children}</div>
    </section>
  );
}

/** The side of the page that it is docked at. */
function useSide(below: boolean): Side {
  const [narrow, setNarrow] = useState(() => window.matchMedia(NARROW).matches);
  useEffect(() => {
    const query = window.matchMedia(NARROW);
    const look = (): void => setNarrow(query.matches);
    look();
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, []);
  return narrow || below ? "bottom" : "right";
}

/** The size that the reader chose; the frame's grid reads it from the document. */
function useSize(side: Side): [number | null, (px: number | null) => void] {
  const px = sizes.value[side];
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    if (px === null) style.removeProperty(`--inspector-${side}`);
    else style.setProperty(`--inspector-${side}`, `${px}px`);
  }, [side, px]);
  const set = (next: number | null): void => {
    sizes.value = { ...sizes.value, [side]: next };
    storeSize(KEYS[side], next);
  };
  return [px, set];
}

/** Escape closes it from wherever the focus is, but a text field or a dialog. */
function useEscape(active: boolean, close: () => void): void {
  const act = useLatestCallback((event: KeyboardEvent): void => {
    if (!active || event.key !== "Escape" || event.defaultPrevented) return;
    if (isTyping(event.target) || isCovered()) return;
    event.preventDefault();
    close();
  });
  useLayoutEffect(() => onKeyDown(act), []); // before the panel is painted: a key may follow at once
}
