// An example event with a link to its record.
import type { Example } from "../../api/types";
import { duration, exactDuration } from "../../lib/format";
import { t } from "../../i18n";
import { linkProps } from "../../state/links";

export function EventLink({ example }: { example: Example }) {
  return (
    <>
      <a
        {...linkProps({ event: `${example.table}/${example.row}` })}
        data-testid="example"
        data-event={`${example.table}/${example.row}`}
        title={t.eventLink.title(example.name, example.thread, exactDuration(example.start_ns))}
      >
        {example.name || t.eventLink.noName}
      </a>{" "}
      <span class="muted small">
        {t.eventLink.at(example.thread, duration(example.start_ns), example.note)}
      </span>
    </>
  );
}
