// The edge of a panel that is docked at the right of the page or below it.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../../i18n";
import { Edge } from "../controls/edge";
import { fittingSize, leastSize, windowSize, type Side } from "./size";
import "./panel-edge.css";

const STEP_PX = 24;

interface PanelEdgeProps {
  panel: RefObject<HTMLElement | null>;
  side: Side;
  /** Null for the usual size, which is the stylesheet's. */
  chosen: number | null;
  set: (px: number | null) => void;
}

export function PanelEdge({ panel, side, chosen, set }: PanelEdgeProps) {
  const [usual, setUsual] = useState(leastSize(side));
  useEffect(() => {
    const { offsetWidth, offsetHeight } = panel.current as HTMLElement;
    if (chosen === null) setUsual(side === "right" ? offsetWidth : offsetHeight);
  }, [panel, side, chosen]);
  return (
    <Edge
      class={`paneledge ${side}`}
      testid="panel-edge"
      label={t.widgets.panel.edge[side]}
      help={t.widgets.panel.help}
      direction={side === "right" ? "across" : "down"}
      scale={-1}
      step={STEP_PX}
      size={chosen === null ? usual : fittingSize(chosen, side, windowSize(side))}
      least={leastSize(side)}
      most={windowSize(side)}
      set={(px) => set(px === null ? null : fittingSize(px, side, windowSize(side)))}
    />
  );
}
