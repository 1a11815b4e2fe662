// An edge that is dragged, or moved by arrow keys, to make something larger or smaller.
import { useRef } from "preact/hooks";

interface EdgeProps {
  class: string;
  testid: string;
  label: string;
  help: string;
  /** `across` moves it left and right, `down` up and down. */
  direction: "across" | "down";
  size: number;
  least: number;
  most: number;
  /** Null for the usual size. */
  set: (px: number | null) => void;
  /** How much the size changes as the edge moves by a pixel; below 0 where it becomes less. */
  scale?: number;
  /** How much a key changes it. */
  step?: number;
  /** Whether the tab key reaches it; else a pointer alone. */
  reachable?: boolean;
}

const KEYS = { across: ["ArrowLeft", "ArrowRight"], down: ["ArrowUp", "ArrowDown"] } as const;

export function Edge(props: EdgeProps) {
  const { direction, size, set, scale = 1, reachable = true } = props;
  const { step = direction === "across" ? 16 : 2 } = props;
  const from = useRef<{ at: number; size: number } | null>(null);
  const at = (e: PointerEvent): number => (direction === "across" ? e.clientX : e.clientY);
  const end = (): void => {
    from.current = null;
  };
  const [first, second] = KEYS[direction];
  const [less, more] = scale < 0 ? [second, first] : [first, second];
  return (
    <div
      class={props.class}
      role="separator"
      tabIndex={reachable ? 0 : -1}
      aria-orientation={direction === "across" ? "vertical" : "horizontal"}
      aria-label={props.label}
      aria-valuemin={props.least}
      aria-valuemax={props.most}
      aria-valuenow={size}
      title={props.help}
      data-testid={props.testid}
      onPointerDown={(e) => {
        e.preventDefault(); // else the drag selects text
        e.currentTarget.setPointerCapture(e.pointerId);
        if (reachable) e.currentTarget.focus();
        from.current = { at: at(e), size };
      }}
      onPointerMove={(e) => {
        if (from.current) set(from.current.size + (at(e) - from.current.at) * scale);
      }}
      onPointerUp={end}
      onPointerCancel={end}
      onDblClick={() => set(null)}
      onKeyDown={(e) => {
        if (e.key !== less && e.key !== more) return;
        e.preventDefault();
        e.stopPropagation();
        set(size + (e.key === more ? step : -step));
      }}
    />
  );
}
