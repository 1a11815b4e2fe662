// The button that downloads an operator as a script, and what the server says if it cannot run alone.
import { useState } from "preact/hooks";
import { asFailure, fetchOperatorScript, type Failure, type Place } from "../../api/client";
import { t } from "../../i18n";
import { download } from "../../lib/dom";

const texts = t.operators.takeAway;

/** `row`: a row of the trace's operators. */
export function TakeAway({ place, row }: { place: Place; row: number }) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const take = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      const { name, text } = await fetchOperatorScript(place, row);
      download(name, text, "text/x-python");
    } catch (error) {
      setFailure(asFailure(error));
    }
    setBusy(false);
  };
  return (
    <>
      <button
        type="button"
        data-testid="take-away"
        title={texts.help}
        aria-disabled={busy}
        onClick={() => busy || void take()}
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
