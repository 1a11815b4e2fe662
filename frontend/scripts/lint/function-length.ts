// No function is longer than a screen. Biome's rule of that kind does not count the lines of JSX.
import { type Node, parse, type Sources } from "./sources";

const MOST_LINES = 60;

/** Returns the functions of a syntax tree, those inside others included. */
function functionsIn(node: object): Node[] {
  const inside = Object.values(node)
    .filter((value): value is object => typeof value === "object" && value !== null)
    .flatMap(functionsIn);
  return /^(Function|ArrowFunction)/.test("type" in node ? String(node.type) : "")
    ? [node as Node, ...inside]
    : inside;
}

function tooLong(file: string, text: string): string[] {
  const line = (at: unknown): number => text.slice(0, Number(at)).split("\n").length;
  return functionsIn(parse(file, text))
    .map((node) => ({ from: line(node["start"]), lines: line(node["end"]) - line(node["start"]) + 1 }))
    .filter(({ lines }) => lines > MOST_LINES)
    .map(({ from, lines }) => `${file}:${from}: a function has ${lines} lines, more than ${MOST_LINES}`);
}

export const functionLength = (sources: Sources): string[] =>
  [...sources].flatMap(([file, text]) => tooLong(file, text));
