// Lines of code with a button that copies them.
import { useState } from "preact/hooks";
import { copy } from "../../lib/dom";
import { t } from "../../i18n";
import "./code-block.css";

export function CodeBlock({ text }: { text: string }) {
  const [label, setLabel] = useState(t.widgets.copy);
  const press = async (): Promise<void> => {
    setLabel((await copy(text)) ? t.widgets.copied : t.widgets.copyByHand);
    setTimeout(() => setLabel(t.widgets.copy), 2000);
  };
  return (
    <div class="code">
      {/* By the keyboard, too: long lines scroll. */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <button type="button" class="quiet" data-testid="copy" onClick={() => void press()} aria-live="polite">
        {label}
      </button>
    </div>
  );
}
