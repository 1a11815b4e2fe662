// Parts of an advice finding that several pages show: its severity mark and one labelled fact.
import type { ComponentChildren } from "preact";
import type { AdviceRow } from "../../api/types";
import { t } from "../../i18n";
import type { Severity } from "./data-warnings";

/** How severe a finding is, as a mark and in a word. */
export const MARKS: Readonly<Record<AdviceRow["severity"], { shape: Severity; word: string }>> = {
  high: { shape: "error", word: t.advice.severities.high },
  medium: { shape: "warning", word: t.advice.severities.medium },
  low: { shape: "info", word: t.advice.severities.low },
  note: { shape: "info", word: t.advice.severities.note },
};

interface FactProps {
  id: string;
  name: string;
  title?: string;
  children: ComponentChildren;
}

export function Fact({ id, name, title, children }: FactProps) {
  return (
    <div data-key={id} title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
