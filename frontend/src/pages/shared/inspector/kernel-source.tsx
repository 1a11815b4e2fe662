// What its compiler wrote for a kernel, where the recording has that beside it.
import { useView } from "../../../state/use-result";
import type { Selected } from "../../../state/selection";
import { t } from "../../../i18n";
import { CodeBlock } from "../../../widgets/controls/code-block";
import { Section } from "../../../widgets/inspector/section";
import { Show } from "../load-states";

export function KernelSource({ selected, index }: { selected: Selected; index: number }) {
  const resource = useView<"kernel_source">("kernel_source", selected, { index }, null);
  return (
    <Show resource={resource}>
      {({ sources }) =>
        sources.length === 0 ? null : (
          <Section name="source" title={t.inspector.parts.source}>
            {sources.map(({ file, text }) => (
              <div key={file + text} data-file={file}>
                <p class="muted small wrap">{file}</p>
                <CodeBlock text={text} />
              </div>
            ))}
          </Section>
        )
      }
    </Show>
  );
}
