// The button that opens the dialog of recordings on demand. The dialog's script comes with its first use.
import { useState } from "preact/hooks";
import { t } from "../../i18n";
import { Modal } from "../../widgets/controls/modal";
import { onDemand } from "./on-demand";

const texts = t.record;
const Dialog = onDemand(() => import("./record-dialog").then((module) => module.RecordDialog));

interface RecordButtonProps {
  testid: string;
  /** Where it is not, an open dialog stays. */
  isOffered?: boolean;
}

export function RecordButton({ testid, isOffered = true }: RecordButtonProps) {
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  if (!isOffered && !open) return null;
  return (
    <>
      <button
        type="button"
        class="recordnow"
        data-testid={testid}
        aria-haspopup="dialog"
        title={texts.help}
        onClick={() => setOpen(true)}
      >
        {texts.button}
      </button>
      {open && (
        <Modal class="recorddialog" testid="record-dialog" label={texts.title} close={close}>
          <button type="button" class="quiet close" onClick={close}>
            {t.help.close}
          </button>
          <h2>{texts.title}</h2>
          <Dialog close={close} />
        </Modal>
      )}
    </>
  );
}
