// What differs between TensorBoard's iframe and a page of our own: where the URL is, dark mode,
// the reload button, and whether anybody sees the page.
import { signal } from "@preact/signals";

/** The window whose URL the user sees: TensorBoard's if we are in its iframe, else our own. */
export const top: Window = hostWindow();

/** Whether the page is shown. TensorBoard hides a tab by a height of 0, which fires `resize`. */
export const shown = signal(isShown());

/** Counts presses of TensorBoard's reload button, and its automatic reloads. */
export const reloads = signal(0);

/** Starts watching the host; called once. */
export function connect(): void {
  const look = (): void => {
    shown.value = isShown();
  };
  window.addEventListener("resize", look);
  document.addEventListener("visibilitychange", look);
  watchTheme();
  if (top !== window) listenForReloads();
}

/** Calls back for each key press, until the returned function is called. In TensorBoard's iframe also
 * for those on its page while ours is shown: until a click, that page has the keyboard focus. */
export function onKeyDown(act: (event: KeyboardEvent) => void): () => void {
  const outside = (event: KeyboardEvent): void => {
    if (shown.value && !event.defaultPrevented) act(event);
  };
  const stop = (): void => {
    document.removeEventListener("keydown", act);
    top.document.removeEventListener("keydown", outside);
  };
  document.addEventListener("keydown", act);
  if (top !== window) {
    top.document.addEventListener("keydown", outside);
    // TensorBoard's page outlives ours.
    window.addEventListener("pagehide", stop, { once: true });
  }
  return stop;
}

/** Resolves when the page is shown, or at once. */
export function whenShown(): Promise<void> {
  if (shown.value) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = shown.subscribe((now) => {
      if (!now) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

function hostWindow(): Window {
  try {
    // Throws if the parent is of another origin: then we are embedded, but not by TensorBoard.
    void window.parent.location.hash;
    return window.parent;
  } catch {
    return window;
  }
}

function isShown(): boolean {
  return document.visibilityState === "visible" && window.innerHeight > 0;
}

function watchTheme(): void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const print = window.matchMedia("print"); // paper is white, and browsers leave grounds out
  const apply = (): void => {
    const dark = top === window ? system.matches : top.document.body.classList.contains("dark-mode");
    document.documentElement.dataset["theme"] = dark && !print.matches ? "dark" : "light";
  };
  apply();
  for (const media of [system, print]) media.addEventListener("change", apply);
  if (top !== window) new MutationObserver(apply).observe(top.document.body, { attributeFilter: ["class"] });
}

interface HostMessage {
  type: string;
  id: number;
  isReply: boolean;
}

function listenForReloads(): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = (event: MessageEvent<string>): void => {
    const { type, id, isReply } = JSON.parse(event.data) as HostMessage;
    if (isReply) return;
    port1.postMessage(JSON.stringify({ type, id, payload: null, error: null, isReply: true }));
    if (type === "experimental.DataReloaded") reloads.value += 1;
  };
  window.parent.postMessage("experimental.bootstrap", "*", [port2]);
}
