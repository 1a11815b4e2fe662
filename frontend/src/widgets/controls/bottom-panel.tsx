// A panel below a table or the timeline. Its upper edge can be dragged, or moved by arrow keys; its
// height is the reader's, and the same on all pages.
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { store, stored } from "../../lib/preference";
import { t } from "../../i18n";

const KEY = "privateuse1.panel";
const LEAST_PX = 96;
/** The least height of the rest of the page. */
const ABOVE_PX = 200;
const STEP_PX = 24;

interface PanelProps {
  class: string;
  testid: string;
  label?: string;
  /** For tests. */
  value?: number;
  /** Escape closes it. */
  close?: () => void;
  children: ComponentChildren;
}

export function BottomPanel({ class: name, testid, label, value, close, children }: PanelProps) {
  const panel = useRef<HTMLElement>(null);
  const [height, setHeight] = useState(() => Number(stored(KEY)) || null);
  const set = (px: number | null): void => {
    setHeight(px);
    store(KEY, px === null ? null : String(px));
  };
  return (
    <>
      <Edge panel={panel} set={set} chosen={height} />
      <section
        ref={panel}
        class={`bottompanel ${name}`}
        data-testid={testid}
        data-value={value}
        aria-label={label}
        style={height === null ? {} : { height: `${height}px` }}
        onKeyDown={(e) => {
          if (e.key !== "Escape" || !close) return;
          e.stopPropagation();
          close();
        }}
      >
        {children}
      </section>
    </>
  );
}

/** The height that a panel may have in a window. */
export function fittingHeight(px: number, window_px: number): number {
  return Math.round(Math.max(LEAST_PX, Math.min(px, window_px - ABOVE_PX)));
}

interface EdgeProps {
  panel: RefObject<HTMLElement | null>;
  /** Null for the usual height. */
  set: (px: number | null) => void;
  chosen: number | null;
}

function Edge({ panel, set, chosen }: EdgeProps) {
  const edge = useRef<HTMLDivElement>(null);
  const from = useRef<{ y: number; height: number } | null>(null);
  const height = (): number => panel.current?.offsetHeight ?? LEAST_PX;
  const resize = (px: number): void => set(fittingHeight(px, window.innerHeight));
  const end = (): void => {
    from.current = null;
  };
  // The usual height is the stylesheet's, so it is read once it is laid out.
  useEffect(
    () => edge.current?.setAttribute("aria-valuenow", String(panel.current?.offsetHeight)),
    [panel, chosen],
  );
  return (
    <div
      ref={edge}
      class="paneledge"
      role="separator"
      tabIndex={0}
      aria-orientation="horizontal"
      aria-label={t.widgets.panel.edge}
      aria-valuemin={LEAST_PX}
      aria-valuemax={window.innerHeight}
      aria-valuenow={chosen ?? LEAST_PX}
      title={t.widgets.panel.help}
      data-testid="panel-edge"
      onPointerDown={(e) => {
        e.preventDefault(); // else the drag selects text
        e.currentTarget.setPointerCapture(e.pointerId);
        e.currentTarget.focus();
        from.current = { y: e.clientY, height: height() };
      }}
      onPointerMove={(e) => {
        if (from.current) resize(from.current.height + from.current.y - e.clientY);
      }}
      onPointerUp={end}
      onPointerCancel={end}
      onDblClick={() => set(null)}
      onKeyDown={(e) => {
        if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
        e.preventDefault();
        resize(height() + (e.key === "ArrowUp" ? STEP_PX : -STEP_PX));
      }}
    />
  );
}
