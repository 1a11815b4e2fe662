// @vitest-environment happy-dom
import { render } from "preact";
import { expect, test } from "vitest";
import { BeforeAndAfter } from "../../../src/pages/advice/before-and-after";

test("both programs are shown as they are, each with a label of its own", () => {
  const place = document.createElement("div");
  const code = { before: "for x in y:\n    <b>f(x)</b>", after: "f(y)" };
  render(<BeforeAndAfter code={code} />, place);
  const blocks = [...place.querySelectorAll("pre")].map((pre) => pre.textContent);
  expect(blocks).toEqual([code.before, code.after]);
  const labels = [...place.querySelectorAll("dt")].map((label) => label.textContent);
  expect(labels).toEqual(["Before", "After"]);
});
