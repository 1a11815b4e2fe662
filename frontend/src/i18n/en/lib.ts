// English texts of filters, units and other helpers of all pages.
import { plural } from "../count";

/** What a filter is told that is not understood. */
export const filter = {
  openQuote: 'A closing quote (") is missing.',
  isText: (name: string) => `${name} is text: use ${name} = "…" or ${name} != "…".`,
  needsNumber: (name: string, operator: string, example: string) =>
    `${name} ${operator} needs a number: ${example}.`,
  noUnit: (unit: string, name: string, example: string) => `${unit} is no unit of ${name}: ${example}.`,
  lacksUnit: (number: string, example: string) => `${number} of what? Give a unit: ${example}.`,
  mayBe: (name: string, names: readonly string[]) =>
    `${name} may be ${names.join(", ").replace(/, ([^,]*)$/, " or $1")}.`,
  noColumn: (name: string, names: readonly string[]) =>
    `There is no column ${name}. There are: ${names.join(", ")}. To search for this text, put it in quotes.`,
};

/** The categories of what a step's time goes to; what a kernel hides is in none of them. */
export const color = {
  kernel: "Kernel",
  memcpy: "Exposed copies",
  memset: "Exposed fills",
  communication: "Exposed communication",
  unknown: "Busy, launcher unknown",
  runtime: "Runtime",
  dataloader: "DataLoader",
  cpu: "CPU",
  other: "Other",
};

/** What is wrong with the template of an editor's links. */
export const editorLink = {
  noScheme: "It has to begin with the editor's name and a colon, such as vscode:",
  forbidden: (scheme: string) => `A browser does not give ${scheme}: to an editor.`,
  noPath: "It has no {path}.",
};

export const format = {
  missing: "not in this trace",
  unknownBound: "± unknown",
  unknownRange: "range unknown",
  range: (low: string, high: string) => `${low} to ${high}`,
  atMost: (high: string) => `at most ${high}`,
  kernels: (n: number) => plural(n, "kernel"),
  perMs: (n: string) => `${n} per ms`,
};

export const png = {
  save: "Download the picture",
  noCanvas: "The browser has no canvas.",
};
