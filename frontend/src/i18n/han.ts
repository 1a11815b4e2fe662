// Spacing of Chinese text: a space stands between Chinese and Latin letters or digits.

const HAN = /[\u3400-\u9fff]/;
const LATIN = /[A-Za-z0-9%±−]/;

/** The parts as one text, with a space where Chinese meets Latin. */
export function spaced(...parts: readonly string[]): string {
  return parts.filter(Boolean).reduce((text, part) => {
    const [last, first] = [text.at(-1) ?? "", part[0] ?? ""];
    return (
      text +
      ((HAN.test(last) && LATIN.test(first)) || (LATIN.test(last) && HAN.test(first)) ? " " : "") +
      part
    );
  }, "");
}
