// A call stack below its table: a line per frame, the innermost first.
import { ownFrame } from "../../lib/python-stack";
import { t } from "../../i18n";
import { BottomPanel } from "../../widgets/controls/bottom-panel";
import { useReturnFocus } from "../../widgets/controls/return-focus";
import { linkProps } from "../../state/links";

interface StackPanelProps {
  title: string;
  /** Frames, innermost first, separated by `;`. */
  stack: string;
  /** The longest call's row in the trace's ranges. */
  row: number | null;
  close: () => void;
}

export function StackPanel({ title, stack, row, close }: StackPanelProps) {
  const own = ownFrame(stack);
  useReturnFocus();
  return (
    <BottomPanel class="stackpanel" testid="stack-panel" label={t.stackPanel.label(title)} close={close}>
      <div class="toolbar">
        <h2>{title}</h2>
        {row !== null && (
          <a {...linkProps({ event: `ops/${row}` })} data-testid="stack-record">
            {t.stackPanel.toRecord}
          </a>
        )}
        {row !== null && (
          <a {...linkProps({ view: "timeline", item: `ops:${row}` })} data-testid="stack-timeline">
            {t.stackPanel.toTimeline}
          </a>
        )}
        <button type="button" class="quiet push" data-testid="stack-close" onClick={close}>
          {t.stackPanel.close}
        </button>
      </div>
      <ol>
        {stack.split(";").map((frame, i) => (
          <li key={i} class={frame === own ? "own" : "muted"}>
            {frame}
          </li>
        ))}
      </ol>
    </BottomPanel>
  );
}
