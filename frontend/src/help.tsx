// The keys, on `?`.
import { PAGES } from "./views/index";
import { Modal } from "./widgets/modal";

export function Help({ close }: { close: () => void }) {
  const keys: readonly [string, string][] = [
    ...PAGES.map((p): [string, string] => [`g ${p.letter}`, p.title]),
    ["/", "Filter the page's table"],
    ["↑ ↓ PgUp PgDn", "Move in a table, a list; ← → in the step chart"],
    ["Enter", "Open or select"],
    ["Shift-click", "Sort by one more column"],
    ["Esc", "Clear the filter, close a panel"],
    ["?", "These keys"],
  ];
  return (
    <Modal class="help" testid="help" label="Keys" close={close}>
      <h2>Keys</h2>
      <dl>{keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <h2>Timeline</h2>
      <dl>{TIMELINE.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <h2>Filters</h2>
      <dl>
        {FILTERS.map(([text, what]) => <div key={text}><dt><code>{text}</code></dt><dd>{what}</dd></div>)}
      </dl>
      <button type="button" onClick={close}>Close</button>
    </Modal>
  );
}

const TIMELINE: readonly [string, string][] = [
  ["w s", "Zoom in and out where the pointer is; also Ctrl and the wheel"],
  ["a d", "Move left and right; also Shift and the wheel, or Shift and drag"],
  ["← → ↑ ↓", "The next range, the one above or below"],
  ["drag", "Select a stretch of time: its length and what is in it"],
  ["f", "Fit the selection; 0 shows the whole recording"],
  ["c", "Show the critical path"],
  ["m", "Set or remove a mark where the pointer is"],
  ["x", "Select what is shown, or what is between the last two marks"],
  ["/ n N", "Search the whole trace, next and previous match"],
  ["double click", "Zoom to a range"],
];

const FILTERS: readonly [string, string][] = [
  ["mm -relu", "contains mm, not relu"],
  ['"a, b"', "text with spaces or commas"],
  ["host_self > 1 ms", "compare a column: < <= > >= = !="],
  ["calls >= 10, share > 5%", "both must hold"],
  ['name = "aten::mm"', "exactly this text"],
];
