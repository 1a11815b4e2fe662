// @vitest-environment happy-dom
// An error that names what is not there leads to what is.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { Failure } from "../../../src/api/client";
import { Problem } from "../../../src/pages/shared/load-states";
import { go, state } from "../../../src/state/url";

test("a phase that the trace lacks leads to the steady window", () => {
  const page = document.createElement("main");
  go({ window: "decode", step: 2 }, "replace");
  const failure = new Failure("unknown_phase", "No iteration is of decode.", null, 422);
  void act(() => {
    render(<Problem failure={failure} retry={() => {}} />, page);
  });
  expect(page.querySelector('[data-testid="default-trace"]')).toBeNull();
  void act(() => page.querySelector<HTMLElement>('[data-testid="default-window"]')?.click());
  expect([state.value.window, state.value.step]).toEqual([null, null]);
});
