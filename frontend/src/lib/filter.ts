// The filter of every table: words that a row must contain, and comparisons with its columns.
//
//   mm relu            rows that contain both words        "a, b"        text with spaces
//   -relu              rows without the word               total > 1 ms  calls >= 10
//   operator = "aten::mm"   the exact text                 share > 5%
//
// Terms are separated by spaces or commas; all must hold. A value that the trace does not tell
// (null) fulfils no comparison.
import { t } from "../i18n";

export type Kind = "text" | "time" | "count" | "bytes" | "share";

/** What the filter knows of a column: `total_ns` may be written `total_ns` or `total`. */
export interface Field {
  key: string;
  kind: Kind;
}

export type Operator = "<" | "<=" | ">" | ">=" | "=" | "!=";

export type Term =
  | { type: "word"; text: string; negated: boolean }
  | { type: "text"; key: string; text: string; negated: boolean }
  | { type: "number"; key: string; operator: Operator; value: number };

/** The terms, or a message for the user that says what was not understood. */
export type Parsed = { terms: Term[]; error: null } | { terms: null; error: string };

const UNITS: Readonly<Record<Kind, Readonly<Record<string, number>>>> = {
  text: {},
  time: { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9, min: 60e9 },
  count: { "": 1, k: 1e3, m: 1e6 },
  bytes: { b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, kb: 1e3, mb: 1e6, gb: 1e9 },
  share: { "%": 0.01 },
};
const EXAMPLES: Readonly<Record<Kind, string>> = {
  text: '"aten::mm"',
  time: "1 ms",
  count: "10",
  bytes: "4 MiB",
  share: "5%",
};

const QUOTED = /^"((?:[^"\\]|\\.)*)"/;
const COMPARISON = /^([A-Za-z_][A-Za-z0-9_]*)\s*(<=|>=|!=|==|=|<|>)\s*/;
const NUMBER = /^(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(%|[a-zµμ]+(?![\w]))?/i;
const BARE = /^[^\s,]+/;

/** Reads an expression for a table with these fields. */
export function parseFilter(expression: string, fields: readonly Field[]): Parsed {
  const terms: Term[] = [];
  let rest = expression;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const match = pattern.exec(rest);
    if (match) rest = rest.slice(match[0].length);
    return match;
  };
  for (;;) {
    take(/^[\s,]+/);
    if (rest === "") return { terms, error: null };
    const comparison = take(COMPARISON);
    if (!comparison) {
      const negated = take(/^-(?=[^\s,])/) !== null;
      if (rest.startsWith('"') && !QUOTED.test(rest)) return failed(t.filter.openQuote);
      const quoted = take(QUOTED);
      const text = quoted ? unescaped(quoted[1] ?? "") : (take(BARE)?.[0] ?? "");
      if (text) terms.push({ type: "word", text: text.toLowerCase(), negated });
      continue;
    }
    const [, name = "", sign = ""] = comparison;
    const operator = (sign === "==" ? "=" : sign) as Operator;
    const field = findField(name, fields);
    if (typeof field === "string") return failed(field);
    if (field.kind === "text") {
      if (operator !== "=" && operator !== "!=") {
        return failed(t.filter.isText(name));
      }
      if (rest.startsWith('"') && !QUOTED.test(rest)) return failed(t.filter.openQuote);
      const quoted = take(QUOTED);
      const text = quoted ? unescaped(quoted[1] ?? "") : (take(BARE)?.[0] ?? "");
      terms.push({ type: "text", key: field.key, text, negated: operator === "!=" });
      continue;
    }
    const number = take(NUMBER);
    const shown = `${name} ${operator} ${EXAMPLES[field.kind]}`;
    if (!number) return failed(t.filter.needsNumber(name, operator, shown));
    const unit = (number[2] ?? "").toLowerCase();
    const factor = UNITS[field.kind][unit];
    if (factor === undefined) {
      return failed(unit ? t.filter.noUnit(unit, name, shown) : t.filter.lacksUnit(number[1] ?? "", shown));
    }
    terms.push({ type: "number", key: field.key, operator, value: Number(number[1]) * factor });
  }
}

/** A text as the filter's language has it. */
export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Whether a number fulfils a comparison. */
export function compares(value: number, operator: Operator, limit: number): boolean {
  switch (operator) {
    case "<":
      return value < limit;
    case "<=":
      return value <= limit;
    case ">":
      return value > limit;
    case ">=":
      return value >= limit;
    case "=":
      return value === limit;
    case "!=":
      return value !== limit;
  }
}

/** How a column is called in a filter. */
export function fieldName(key: string): string {
  return key.replace(/_ns$/, "");
}

/** The column of that name, or of the only one that has the name as a word; else a message. */
function findField(name: string, fields: readonly Field[]): Field | string {
  const wanted = name.toLowerCase();
  const exact = fields.find((f) => f.key === wanted || fieldName(f.key) === wanted);
  if (exact) return exact;
  const near = fields.filter((f) => f.key.split("_").includes(wanted));
  if (near.length === 1 && near[0]) return near[0];
  const names = (near.length ? near : fields).map((f) => fieldName(f.key));
  return near.length ? t.filter.mayBe(name, names) : t.filter.noColumn(name, names);
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, "$1");
}

function failed(error: string): Parsed {
  return { terms: null, error };
}

/** The first text that rows must contain, or that a column must equal; null if there is none. */
export function firstWord(expression: string | null, fields: readonly Field[]): string | null {
  for (const term of parseFilter(expression ?? "", fields).terms ?? []) {
    if (term.type !== "number" && !term.negated) return term.text;
  }
  return null;
}
