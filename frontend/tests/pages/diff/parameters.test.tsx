// @vitest-environment happy-dom
// The parameters that differ, as a reader without a mouse sees them.
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { t } from "../../../src/i18n";
import { Parameters } from "../../../src/pages/diff/why";

test("where a parameter is from is text, not a title alone", async () => {
  const root = document.body.appendChild(document.createElement("div"));
  const one = { name: "lr", source: "hparams", base: "0.1", now: null } as const;
  await act(() => render(<Parameters parameters={[one]} />, root));
  expect(root.querySelector("[data-key=lr] td")?.textContent).toBe(`lr ${t.history.sources.hparams}`);
});
