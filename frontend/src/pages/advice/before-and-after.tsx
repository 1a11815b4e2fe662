// Code with a problem, beside the same code with its fix; and the command that tries it.
import type { Code } from "../../api/types";
import { t } from "../../i18n";
import { CodeBlock } from "../../widgets/controls/code-block";
import { Fact } from "../shared/finding-parts";

/** A few lines with the problem, and the same with the fix. */
export function BeforeAndAfter({ code }: { code: Code }) {
  return (
    <>
      <Fact id="before" name={t.advice.before}>
        <CodeBlock text={code.before} />
      </Fact>
      <Fact id="after" name={t.advice.after}>
        <CodeBlock text={code.after} />
      </Fact>
    </>
  );
}

/** The command that applies the fix to the user's program while it runs. */
export function Trial({ command }: { command: string }) {
  return (
    <Fact id="trial" name={t.advice.trial} title={t.advice.trialHelp}>
      <CodeBlock text={command} />
    </Fact>
  );
}
