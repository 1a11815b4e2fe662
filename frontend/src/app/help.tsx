// The list of keyboard shortcuts, on `?`.
import type { ComponentChildren } from "preact";
import { t } from "../i18n";
import { PAGES } from "../pages";
import { Modal } from "../widgets/controls/modal";
import { startTour } from "./tour";
import "./help.css";

export function Help({ close }: { close: () => void }) {
  const keys: readonly [string, string][] = [
    ...PAGES.map((p): [string, string] => [`g ${p.letter}`, p.title]),
    ...Object.entries(t.help.ofPage),
  ];
  return (
    <Modal class="help" testid="help" label={t.help.title} close={close}>
      {/* First, as a dialog scrolls to the element that it gives the focus to. */}
      <button type="button" class="quiet close" onClick={close}>
        {t.help.close}
      </button>
      <h2>{t.help.title}</h2>
      <button
        type="button"
        class="link"
        data-testid="help-tour"
        onClick={() => {
          close();
          startTour();
        }}
      >
        {t.tour.title}
      </button>
      <Meanings of={keys.map(([key, what]) => [<kbd>{named(key)}</kbd>, what])} />
      <h2>{t.help.timeline}</h2>
      <Meanings
        of={Object.entries(t.help.ofTimeline).map(([key, what]) => [<kbd>{named(key)}</kbd>, what])}
      />
      <h2>{t.help.filters}</h2>
      <Meanings of={Object.entries(t.help.ofFilter).map(([text, what]) => [<code>{text}</code>, what])} />
    </Modal>
  );
}

function Meanings({ of }: { of: readonly (readonly [ComponentChildren, ComponentChildren])[] }) {
  return (
    <dl>
      {of.map(([what, meaning], i) => (
        <div key={i}>
          <dt>{what}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

const named = (key: string): string => (t.help.mouse as Readonly<Record<string, string>>)[key] ?? key;
