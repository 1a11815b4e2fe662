// A field that a key has opened gives the focus back to where it was.
import { useRef } from "preact/hooks";

interface LeaveField {
  onFocus: (event: FocusEvent) => void;
  /** Leaves the field. */
  leave: (field: HTMLElement) => void;
}

export function useLeaveField(): LeaveField {
  const before = useRef<EventTarget | null>(null);
  return {
    onFocus: (event) => {
      before.current = event.relatedTarget;
    },
    leave: (field) => {
      if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus();
      else field.blur();
    },
  };
}
