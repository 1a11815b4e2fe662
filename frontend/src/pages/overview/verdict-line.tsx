// What limits the recording, in one sentence, with its longest interval and its function.
import type { Overview, Verdict } from "../../api/types";
import { exactDuration } from "../../lib/format";
import { toInterval } from "../../state/links";
import { t } from "../../i18n";
import { FunctionLink } from "../shared/source-link";
import "./verdict-line.css";

const texts = t.verdictLine;

/** Nothing if no part of the recording is judged, or no device times are known. */
export function VerdictLine({ overview }: { overview: Overview }) {
  const { verdict, duration_ns: end } = overview;
  if (verdict === null) return null;
  return (
    <p class="verdict" data-testid="verdict" data-key={verdict.kind} data-value={verdict.ns}>
      <strong>{verdict.sentence}</strong> <Longest of={verdict} end={end} />
    </p>
  );
}

function Longest({ of, end }: { of: Verdict; end: number }) {
  return (
    <span class="small">
      <a
        {...toInterval(of.longest_start_ns, of.longest_start_ns + of.longest_ns, end)}
        title={exactDuration(of.longest_ns)}
        data-testid="verdict-interval"
      >
        {texts.longest}
      </a>
      {of.where && (
        <>
          {" "}
          <FunctionLink where={of.where} />
        </>
      )}
    </span>
  );
}
