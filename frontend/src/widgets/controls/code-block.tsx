// Lines of code with a button that copies them.
import { useState } from "preact/hooks";
import { copy } from "../../lib/dom";
import { t } from "../../i18n";

export function CodeBlock({ text }: { text: string }) {
  const [said, setSaid] = useState(t.widgets.copy);
  const press = async (): Promise<void> => {
    setSaid((await copy(text)) ? t.widgets.copied : t.widgets.copyByHand);
    setTimeout(() => setSaid(t.widgets.copy), 2000);
  };
  return (
    <div class="code">
      <pre>
        <code>{text}</code>
      </pre>
      <button type="button" class="quiet" data-testid="copy" onClick={() => void press()} aria-live="polite">
        {said}
      </button>
    </div>
  );
}
