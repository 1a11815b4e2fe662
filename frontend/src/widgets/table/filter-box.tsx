// The text field of the filter, with its errors below.
import { fieldName, type Field } from "../../lib/filter";
import { t } from "../../i18n";
import { useDebounce } from "../controls/debounce";
import { useLeaveField } from "../controls/leave-field";
import "./filter-box.css";

interface FilterBoxProps {
  columns: readonly Field[];
  value: string;
  error: string | null;
  noun: string;
  onInput: (expression: string) => void;
  /** The user has stopped typing: now the URL may know. */
  onSettled: (expression: string | null) => void;
}

/** Browsers refuse more than some hundred URL changes in half a minute. */
const SETTLE_MS = 250;

export function FilterBox({ columns, value, error, noun, onInput, onSettled }: FilterBoxProps) {
  const later = useDebounce(SETTLE_MS);
  const { onFocus, leave } = useLeaveField();
  const change = (text: string): void => {
    onInput(text);
    later(() => onSettled(text.trim() || null));
  };
  const number = columns.find((c) => c.kind === "time") ?? columns.find((c) => c.kind === "count");
  const example = number ? `${fieldName(number.key)} > ${number.kind === "time" ? "1 ms" : "10"}` : null;
  return (
    <span class="filterbox">
      <input
        type="search"
        data-filter
        data-testid="filter"
        value={value}
        spellcheck={false}
        autocomplete="off"
        aria-label={t.table.filter(noun)}
        aria-invalid={error !== null}
        placeholder={t.table.placeholder(example)}
        title={t.table.filterHelp(columns.map((c) => fieldName(c.key)))}
        onInput={(e) => change(e.currentTarget.value)}
        onFocus={onFocus}
        onKeyDown={(e) => {
          if (e.key !== "Escape") return;
          if (value) change("");
          else leave(e.currentTarget);
          e.preventDefault();
        }}
      />
      {error && (
        <span class="filter-error" role="alert" data-testid="filter-error">
          {error}
        </span>
      )}
    </span>
  );
}
