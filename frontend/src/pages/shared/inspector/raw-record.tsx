// The record of one event, exactly as the file has it: text, never markup.
import { useEventRecord } from "../../../state/use-result";
import type { Selected } from "../../../state/selection";
import type { EventRecord } from "../../../api/types";
import { linkProps } from "../../../state/links";
import { t } from "../../../i18n";
import { CodeBlock } from "../../../widgets/controls/code-block";
import { Section } from "../../../widgets/inspector/section";
import { Show } from "../load-states";
import { ofRank } from "./jumps";

const texts = t.inspector;

interface RecordProps {
  /** The trace that has it. */
  selected: Selected;
  /** `table/row` */
  event: string;
  rank: number | null;
}

/** Folded, and asked for only when it is opened: few look at it, and its file must be read. */
export function RecordPart(props: RecordProps) {
  return (
    <Section name="record" title={texts.parts.record} folded>
      <RawRecord {...props} />
    </Section>
  );
}

function RawRecord({ selected, event, rank }: RecordProps) {
  const resource = useEventRecord(selected, event);
  return <Show resource={resource}>{(value) => <RecordText event={value} rank={rank} />}</Show>;
}

export function RecordText({ event, rank }: { event: EventRecord; rank: number | null }) {
  const { record, operator, cut, file } = event;
  if (record === null)
    return (
      <p class="muted" data-testid="no-record">
        {texts.noRecord(
          operator && (
            <a {...linkProps({ event: `${operator.table}/${operator.row}${ofRank(rank)}` })}>
              {operator.name}
            </a>
          ),
        )}
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
