// The button that downloads an operator as a script, and what the server says if it cannot run alone.
import { useState } from "preact/hooks";
import { asFailure, fetchOperatorScript, type Failure, type Place } from "../../api/client";
import { t } from "../../i18n";
import { download } from "../../lib/dom";

const texts = t.operators.takeAway;

/** `row`: a row of the trace's operators. */
export function TakeAway({ place, row }: { place: Place; row: number }) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const take = async (): Promise<void> => {
    try {
      download("operator.py", await fetchOperatorScript(place, row), "text/x-python");
      setFailure(null);
    } catch (error) {
      setFailure(asFailure(error));
    }
  };
  return (
    <>
      <button
        type="button"
        class="quiet"
        data-testid="take-away"
        title={texts.help}
        onClick={() => void take()}
      >
        {texts.button}
      </button>
      {failure && (
        <span class="muted" role="status" data-testid="take-away-failure">
          {failure.message} {failure.hint}
        </span>
      )}
    </>
  );
}
