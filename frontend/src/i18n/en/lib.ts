/** What a filter is told that is not understood. */
export const filter = {
  openQuote: 'A closing quote (") is missing.',
  isText: (name: string) => `${name} is text: use ${name} = "…" or ${name} != "…".`,
  needsNumber: (name: string, operator: string, example: string) => `${name} ${operator} needs a number: ${example}.`,
  noUnit: (unit: string, name: string, example: string) => `${unit} is no unit of ${name}: ${example}.`,
  lacksUnit: (number: string, example: string) => `${number} of what? Give a unit: ${example}.`,
  mayBe: (name: string, names: readonly string[]) => `${name} may be ${names.join(", ").replace(/, ([^,]*)$/, " or $1")}.`,
  noColumn: (name: string, names: readonly string[]) =>
    `There is no column ${name}. There are: ${names.join(", ")}. To search for this text, put it in quotes.`,
};
