// English texts of the SQL page.
import { count, plural } from "../../count";

export const sql = {
  /** What the examples ask. */
  examples: {
    kernels: "Kernels by time",
    operators: "Operators by device time",
    waiting: "Waiting after the launch",
    evidence: "How well times are known",
  },
  off: "This server answers no SQL",
  offWhy:
    "Others than its own machine reach it, and everybody who sees this page could use its processor. To allow that, start TensorBoard with",
  orAsk: "Or ask on the command line:",
  missing: "SQL needs DuckDB",
  missingWhere: "It is not installed where TensorBoard runs:",
  queryOf: (run: string, rank: number) => `Query of ${run}, rank ${rank}`,
  run: "Run",
  runHelp: "Run (Ctrl+Enter)",
  nothingYet:
    "Run a query, or one of the examples: Ctrl+Enter. It reads the chosen trace and can change nothing.",
  tables: "Tables and columns",
  columns: (columns: number) => `${count(columns)} columns`,
  insert: (name: string) => `Put ${name} into the query`,
  row: { noun: "row", nouns: "rows" },
  took: (ms: number) => `${count(ms)} ms`,
  firstRows: (rows: number, ms: number) => `the first ${plural(rows, "row")}, ${count(ms)} ms`,
};
