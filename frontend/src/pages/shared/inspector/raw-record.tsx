// The record of one event, exactly as the file has it: text, never markup.
import type { ComponentChildren } from "preact";
import { useEventRecord } from "../../../state/use-result";
import type { Selected } from "../../../state/selection";
import type { EventRecord } from "../../../api/types";
import { t } from "../../../i18n";
import { CodeBlock } from "../../../widgets/controls/code-block";
import { Section } from "../../../widgets/inspector/section";
import { Show } from "../load-states";

const texts = t.inspector;

interface RecordProps {
  /** The trace that has it. */
  selected: Selected;
  /** `table/row` */
  event: string;
  /** A link to the operator of an inferred activity, which has a record. */
  operator: ComponentChildren;
}

/** Folded, and asked for only when it is opened: few look at it, and its file must be read. */
export function RecordPart(props: RecordProps) {
  return (
    <Section name="record" title={texts.parts.record} folded>
      <RawRecord {...props} />
    </Section>
  );
}

function RawRecord({ selected, event, operator }: RecordProps) {
  const resource = useEventRecord(selected, event);
  return <Show resource={resource}>{(value) => <RecordText event={value} operator={operator} />}</Show>;
}

interface TextProps extends Pick<RecordProps, "operator"> {
  event: EventRecord;
}

export function RecordText({ event: { record, cut, file }, operator }: TextProps) {
  if (record === null)
    return (
      <p class="muted" data-testid="no-record">
        {texts.noRecord(operator)}
      </p>
    );
  return (
    <>
      <p class="muted small">{texts.asIn(file)}</p>
      <CodeBlock text={record} />
      {cut && <p class="warn">{texts.cut}</p>}
    </>
  );
}
