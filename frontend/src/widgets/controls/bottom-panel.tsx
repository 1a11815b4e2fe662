// A panel below the timeline or a table. Its upper edge can be dragged, or moved by arrow keys; its
// height is the reader's, and the same on all pages.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { PanelEdge } from "../inspector/panel-edge";
import { storedSize, storeSize } from "../inspector/size";
import "./bottom-panel.css";

const KEY = "panel";

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
  const [height, setHeight] = useState(() => storedSize(KEY));
  const set = (px: number | null): void => {
    setHeight(px);
    storeSize(KEY, px);
  };
  return (
    <>
      <PanelEdge panel={panel} side="bottom" chosen={height} set={set} />
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
