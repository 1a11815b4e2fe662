// Buttons that open and close the rows of a tree. A filter opens the rows that it finds.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { t } from "../../i18n";
import "./tree-toggle.css";

/** Of the table around: a filter says what is shown. */
export const Filtered = createContext(false);
/** Of the row around: whether rows inside are shown; null if it has none to show. */
export const Expanded = createContext<boolean | null>(null);

interface TwistProps {
  labels: { open: (name: string) => string; close: (name: string) => string };
  name: string;
  onTurn: (open: boolean) => void;
}

/** Before the name of a row. */
export function TreeToggle({ labels, name, onTurn }: TwistProps) {
  const filtered = useContext(Filtered);
  const open = useContext(Expanded);
  if (open === null) return <span class="tree-toggle" />;
  return (
    <button
      type="button"
      class="tree-toggle"
      tabIndex={-1}
      aria-label={open ? labels.close(name) : labels.open(name)}
      data-testid="twist"
      disabled={filtered}
      {...(filtered && { title: t.table.filterOpens })}
      onClick={(e) => {
        e.stopPropagation();
        onTurn(!open);
      }}
    >
      {open ? "▾" : "▸"}
    </button>
  );
}

interface AllProps {
  label: string;
  title: string;
  testid: string;
  onClick: () => void;
}

/** Above the table: opens or closes all rows. */
export function ToggleAllButton({ label, title, testid, onClick }: AllProps) {
  const filtered = useContext(Filtered);
  return (
    <button
      type="button"
      data-testid={testid}
      disabled={filtered}
      onClick={onClick}
      title={filtered ? t.table.filterOpens : title}
    >
      {label}
    </button>
  );
}
