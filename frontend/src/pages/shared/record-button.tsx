// The button that opens the dialog of recordings on demand, and the dialog's place. Its script comes
// with its first use.
import { signal } from "@preact/signals";
import { t } from "../../i18n";
import { Modal } from "../../widgets/controls/modal";
import { onDemand } from "./on-demand";
import "./record-button.css";

const texts = t.record;
const Dialog = onDemand(() => import("./record-dialog").then((module) => module.RecordDialog));

/** Not a button's own state: the page around a button changes when the first recording arrives. */
const isOpen = signal(false);

export function RecordButton({ testid }: { testid: string }) {
  return (
    <button
      type="button"
      data-testid={testid}
      aria-haspopup="dialog"
      title={texts.help}
      onClick={() => {
        isOpen.value = true;
      }}
    >
      {texts.button}
    </button>
  );
}

/** The dialog, while it is open: once on the page, whatever the page shows. */
export function RecordPlace() {
  const close = (): void => {
    isOpen.value = false;
  };
  if (!isOpen.value) return null;
  return (
    <Modal class="recorddialog" testid="record-dialog" label={texts.title} close={close}>
      <button type="button" class="quiet close" onClick={close}>
        {t.help.close}
      </button>
      <h2>{texts.title}</h2>
      <Dialog close={close} />
    </Modal>
  );
}
