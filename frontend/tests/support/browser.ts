// Just enough of a browser for the modules that talk to one: TensorBoard's window with its URL,
// and our iframe in it.
import { vi } from "vitest";

export interface FakeWindow extends EventTarget {
  location: { href: string; hash: string };
  history: {
    state: unknown;
    replaceState: (state: unknown, title: string, hash: string) => void;
    entries: string[];
  };
  innerHeight: number;
}

export function fakeWindow(href: string): FakeWindow {
  const target = new EventTarget() as FakeWindow;
  const entries = [href];
  const location = {
    get href() {
      return entries.at(-1) ?? "";
    },
    get hash() {
      const at = location.href.indexOf("#");
      return at < 0 ? "" : location.href.slice(at);
    },
    set hash(hash: string) {
      entries.push(location.href.replace(/#.*$/, "") + hash);
      target.dispatchEvent(new Event("hashchange"));
    },
  };
  target.location = location;
  target.innerHeight = 800;
  target.history = {
    state: null,
    entries,
    replaceState: (_state, _title, hash) => {
      entries[entries.length - 1] = location.href.replace(/#.*$/, "") + hash;
    },
  };
  return target;
}

/** Puts our code into an iframe of a window with that URL. */
export function inTensorBoard(href: string): FakeWindow {
  const parent = fakeWindow(href);
  const own = fakeWindow("http://host/data/plugin_entry.html?name=privateuse1");
  vi.stubGlobal("window", Object.assign(own, { parent }));
  const document = Object.assign(new EventTarget(), {
    visibilityState: "visible",
    baseURI: "http://host/prefix/data/plugin/privateuse1/",
  });
  vi.stubGlobal("document", document);
  return parent;
}
