// A link from a step in a table to the step on the timeline.
import type { ComponentChildren } from "preact";
import { stepNumber } from "../../state/selection";
import type { State } from "../../state/url";
import { t } from "../../i18n";
import { linkProps } from "../../state/links";

interface StepLinkProps {
  name: string;
  /** Another rank, where the table has several. */
  rank?: number;
  testid?: string;
  children: ComponentChildren;
}

/** The timeline shows a selected step. Without steps it shows the whole recording, the only one. */
export function StepLink({ name, rank, testid, children }: StepLinkProps) {
  const changes: Partial<State> = {
    view: "timeline",
    ...(rank !== undefined && { rank }),
    step: stepNumber(name),
    range: null,
  };
  return (
    <a class="value" {...linkProps(changes)} data-testid={testid} title={t.stepLink.title(name)}>
      {children}
    </a>
  );
}
