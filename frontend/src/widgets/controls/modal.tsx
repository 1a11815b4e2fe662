// A dialog over the page: closes by Escape, its button or a click beside it, and gives the focus back.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useReturnFocus } from "./return-focus";

interface ModalProps {
  /** Said to those who do not see it. */
  label: string;
  class: string;
  testid: string;
  /** The event, for tests. */
  event?: string;
  close: () => void;
  children: ComponentChildren;
}

export function Modal({ label, class: name, testid, event, close, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useReturnFocus();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={name}
      data-testid={testid}
      data-event={event}
      aria-label={label}
      onClose={close}
      onClick={(e) => {
        if (e.target === dialog.current) close();
      }}
    >
      {children}
    </dialog>
  );
}
