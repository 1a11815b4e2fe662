import { count, plural } from "../count";

export const table = {
  /** Of what a row is, more than one. */
  nouns: (noun: string) => `${noun}s`,
  rows: (chosen: number, all: number, noun: string, nouns: string) => (chosen === all ? "" : `${count(chosen)} of `) + plural(all, noun, nouns),
  label: (what: string, opens: boolean) => `Table of ${what}. Arrow keys move${opens ? ", Enter opens a row" : ""}.`,
  sums: (all: boolean, n: number) => `${all ? "All" : "These"} ${count(n)}`,
  sort: (help: string) => `${help ? `${help} ` : ""}Click sorts, Shift-click adds a second column.`,
  none: (nouns: string) => `There are no ${nouns} here.`,
  noMatch: (nouns: string) => `No ${nouns} match the filter.`,
  clear: "Clear it",
  filterOpens: "The filter opens what it finds",
  saveShown: "Download what is shown, exact values in ns",
  save: "Download this table, exact values in ns",
  columns: "Columns",
  chooseColumns: "Choose the columns",
  usualColumns: "As at first",
  filter: (nouns: string) => `Filter ${nouns}`,
  /** With an example of a comparison, if the table has a column for one. */
  placeholder: (example: string | null) => `Filter: text${example === null ? "" : `, or ${example}`}   ( / )`,
  filterHelp: (names: readonly string[]) => `Words, "quoted text", -without, and comparisons of ${names.join(", ")}. All must hold.`,
};
