// @vitest-environment happy-dom
// Parts that fold: what is open stays so for the next thing that is looked at.
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test } from "vitest";
import { Section } from "../../../src/widgets/inspector/section";

afterEach(async () => {
  await act(() => render(null, document.body));
  localStorage.clear();
});

async function draw(folded: boolean): Promise<HTMLDetailsElement> {
  await act(() => render(null, document.body));
  await act(() =>
    render(
      <Section name="one" title="One" folded={folded}>
        <p>inside</p>
      </Section>,
      document.body,
    ),
  );
  return document.querySelector("details") as HTMLDetailsElement;
}

async function toggle(part: HTMLDetailsElement): Promise<void> {
  await act(() => {
    part.open = !part.open;
    part.dispatchEvent(new Event("toggle"));
  });
}

test.each([true, false])("folded %s at first, and remembered", async (folded) => {
  const first = await draw(folded);
  expect(first.open).toBe(!folded);
  expect(first.textContent?.includes("inside")).toBe(!folded);
  await toggle(first);
  expect(first.textContent?.includes("inside")).toBe(folded);
  const second = await draw(folded);
  expect(second.open).toBe(folded);
  await toggle(second);
  expect((await draw(folded)).open).toBe(!folded);
  expect(localStorage.getItem("tb_privateuse1.inspector.sections")).toBeNull();
});
