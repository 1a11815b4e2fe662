// Helpers for the DOM that browsers do not offer in one call.

/** Whether a key press belongs to a text field and so is no shortcut. */
export function isTyping(target: EventTarget | null): boolean {
  // Not by instanceof: an element of TensorBoard's page has that page's classes.
  const { tagName, type = "", isContentEditable } = (target ?? {}) as Partial<HTMLInputElement>;
  if (tagName === "INPUT") return !/^(checkbox|radio|button)$/.test(type);
  return isContentEditable === true || /^(TEXTAREA|SELECT)$/.test(tagName ?? "");
}

/** Whether a dialog lies over the page: the keys are its own. */
export function isCovered(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

/** Offers a text as a file. */
export function download(name: string, text: string, type: string): void {
  offer(name, new Blob([text], { type }));
}

/** Offers what a canvas shows as a picture. */
export function downloadPicture(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => blob && offer(name, blob));
}

function offer(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the blob after this task.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copies a text; false where the browser does not allow it (no secure context, no focus). */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** `navigator.clipboard` is missing over plain http from another machine, the usual TensorBoard. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
