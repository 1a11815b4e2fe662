// Lines to copy.
import { useState } from "preact/hooks";
import { copy } from "../base/dom";

export function Code({ text }: { text: string }) {
  const [said, setSaid] = useState("Copy");
  const press = async (): Promise<void> => {
    setSaid((await copy(text)) ? "Copied" : "Select and copy by hand");
    setTimeout(() => setSaid("Copy"), 2000);
  };
  return (
    <div class="code">
      <pre><code>{text}</code></pre>
      <button type="button" class="quiet" data-testid="copy" onClick={() => void press()} aria-live="polite">{said}</button>
    </div>
  );
}
