// The edge of a docked panel: dragged, or moved by arrow keys; a double click gives the usual size.
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../i18n";
import { fittingSize, keyStep, leastSize, windowSize, type Side } from "./size";

interface EdgeProps {
  panel: RefObject<HTMLElement | null>;
  side: Side;
  chosen: number | null;
  /** Null for the usual size. */
  set: (px: number | null) => void;
}

export function Edge({ panel, side, chosen, set }: EdgeProps) {
  const edge = useRef<HTMLDivElement>(null);
  const from = useRef<{ at: number; size: number } | null>(null);
  const at = (e: PointerEvent): number => (side === "right" ? e.clientX : e.clientY);
  const resize = (px: number): void => set(fittingSize(px, side, windowSize(side)));
  const end = (): void => {
    from.current = null;
  };
  // The usual size is the stylesheet's, so it is read once it is laid out.
  useEffect(
    () => edge.current?.setAttribute("aria-valuenow", String(sizeOf(panel, side))),
    [panel, side, chosen],
  );
  return (
    <div
      ref={edge}
      class={`paneledge ${side}`}
      role="separator"
      tabIndex={0}
      aria-orientation={side === "right" ? "vertical" : "horizontal"}
      aria-label={t.widgets.panel.edge[side]}
      aria-valuemin={leastSize(side)}
      aria-valuemax={windowSize(side)}
      aria-valuenow={chosen ?? leastSize(side)}
      title={t.widgets.panel.help}
      data-testid="panel-edge"
      onPointerDown={(e) => {
        e.preventDefault(); // else the drag selects text
        e.currentTarget.setPointerCapture(e.pointerId);
        e.currentTarget.focus();
        from.current = { at: at(e), size: sizeOf(panel, side) };
      }}
      onPointerMove={(e) => {
        if (from.current) resize(from.current.size + from.current.at - at(e));
      }}
      onPointerUp={end}
      onPointerCancel={end}
      onDblClick={() => set(null)}
      onKeyDown={(e) => {
        const step = keyStep(e.key, side);
        if (step === 0) return;
        e.preventDefault();
        resize(sizeOf(panel, side) + step);
      }}
    />
  );
}

const sizeOf = ({ current }: EdgeProps["panel"], side: Side): number =>
  (side === "right" ? current?.offsetWidth : current?.offsetHeight) ?? leastSize(side);
