// C++ names of kernels as people read them: without return type, namespaces and parameters, and with
// as many template arguments as fit. Class names among these stay longest, as a functor is one.
//
//   void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>, …>(int, …)
//   → vectorized_elementwise_kernel<4, MulFunctor<float>, …>
import { demangled, type Part } from "./mangled-name";

/** What fits into a column of names. */
const MOST = 60;
const LEFT_OUT = "…";

const known = new Map<string, string>();

/** The name as people read it; any other than a C++ name unchanged. */
export function readableName(name: string): string {
  let readable = known.get(name);
  if (readable === undefined) {
    readable = shortened(name);
    known.set(name, readable);
  }
  return readable;
}

function shortened(name: string): string {
  const part = name.startsWith("_Z") ? demangled(name) : isCpp(name) ? functionOf(name) : null;
  if (!part?.name) return name;
  const forms = part.args?.some((arg) => !arg.plain)
    ? [whole, withoutPlain, (one: Part) => withoutPlain(inner(one)), (one: Part) => names(inner(one))]
    : [whole];
  return forms.map((form) => form(part)).find((text) => text.length <= MOST) ?? firstArguments(inner(part));
}

/** A call's signature or a template's instance. Neither a path such as aten::mm nor a frame of Python. */
const isCpp = (name: string): boolean =>
  (/^void [\w:(<]/.test(name) || /[\w>]<[^<>]/.test(name) || /^[\w:]+::[^.]*\(/.test(name)) &&
  /[)>]$/.test(name.replace(/( \[.*\])+$/, ""));

const whole = (part: Part): string => text(part, (args) => args.map(whole));

const withoutPlain = (part: Part): string =>
  text(part, (args) => args.map((arg) => (arg.plain ? LEFT_OUT : withoutPlain(arg))));

/** With the first of the arguments, as many as fit, at least one: of its classes, if there are any. */
function firstArguments(part: Part): string {
  const classes = part.args?.some((arg) => !arg.plain) ?? false;
  const shown = part.args?.map((arg) => (classes && arg.plain ? LEFT_OUT : outer(arg))) ?? [];
  const least = shown.findIndex((arg) => arg !== LEFT_OUT) + 1;
  for (let count = shown.length - 1; count > least; count -= 1) {
    const fitting = text(part, () => [...shown.slice(0, count), LEFT_OUT]);
    if (fitting.length <= MOST) return fitting;
  }
  return text(part, () => [...shown.slice(0, least), LEFT_OUT]);
}

const outer = (part: Part): string => text(part, () => [LEFT_OUT]);

/** Without the arguments of arguments. */
const names = (part: Part): string =>
  text(part, (args) => args.map((arg) => (arg.plain ? LEFT_OUT : arg.name)));

/** Each argument without the adapters around it: templates with one other template or function. */
const inner = (part: Part): Part => ({ ...part, args: part.args?.map(adapted) ?? null });

function adapted(part: Part): Part {
  const [only, ...others] = part.args?.filter((arg) => !arg.plain && arg.args !== null) ?? [];
  return only && others.length === 0 ? adapted(only) : part;
}

function text({ name, args }: Part, each: (args: readonly Part[]) => string[]): string {
  if (!args?.length) return name;
  const shown = each(args).filter((one, i, all) => one !== LEFT_OUT || all[i - 1] !== LEFT_OUT);
  return `${name}<${shown.join(", ")}>`;
}

/** The function of a signature such as `void a::b<int>(int)`. */
function functionOf(signature: string): Part | null {
  const pieces = split(signature.trim(), " ");
  const named = pieces.find((piece, i) => i > 0 && piece.endsWith(")")) ?? pieces.at(-1) ?? "";
  return typeOf(pieces.length > 1 ? named : signature);
}

/** A type or a function: the last part of its path that has a name of its own. */
function typeOf(type: string): Part | null {
  const path = split(type.replace(/(?:\s*(?:const|[*&]))+$/, "").trim(), "::").map(partOf);
  if (path.some((part) => part === null)) return null;
  const own = path.findLast((part) => part && !/^(?:\{.*\}|\(.*\)|operator\W*)?$/.test(part.name));
  if (!own) return null;
  const plain = path[0]?.name === "std" || own.plain || /[*&]$/.test(type);
  const called = path.some((part) => part?.name.startsWith("{"));
  return { ...own, args: own.args ?? (called ? [] : null), plain };
}

const PLAIN =
  /^(?:[-(\d].*|true|false|(?:(?:un)?signed |long |const )*(?:void|bool|char|short|int|long|float|double|unsigned|signed))$/;

/** `name<arguments>(parameters)`; null if its brackets do not match. */
function partOf(piece: string): Part | null {
  if (/^[{(]/.test(piece)) return other(piece); // a lambda, an anonymous namespace, a cast number
  const open = bracket(piece, "<");
  const call = bracket(piece, "(");
  const name = piece.slice(0, Math.min(open, call)).trim();
  if (open >= call) return { name, args: null, plain: PLAIN.test(piece) };
  const close = closing(piece, open);
  if (close < 0) return null;
  const args = split(piece.slice(open + 1, close), ",").map((arg) => typeOf(arg) ?? other(arg));
  return { name, args: args.filter((arg) => arg.name !== ""), plain: false };
}

const other = (name: string): Part => ({ name: name.trim(), args: null, plain: true });

function bracket(piece: string, which: string): number {
  const at = piece.indexOf(which);
  return at < 0 ? piece.length : at;
}

const CLOSES: Readonly<Record<string, string>> = { "<": ">", "(": ")", "{": "}", "[": "]" };

/** How many brackets are open after each character; a > in parentheses compares and closes none. */
function depths(piece: string): number[] {
  const expected: string[] = [];
  return [...piece].map((char) => {
    const close = CLOSES[char];
    if (close) expected.push(close);
    else if (char === expected.at(-1)) expected.pop();
    return expected.length;
  });
}

/** The place of the bracket that closes the one at a place; -1 if there is none. */
function closing(piece: string, open: number): number {
  const depth = depths(piece);
  return depth.findIndex((now, i) => i > open && now < (depth[open] ?? 0));
}

/** The pieces between separators that lie outside of all brackets. */
function split(piece: string, separator: string): string[] {
  const depth = depths(piece);
  const pieces: string[] = [];
  let from = 0;
  for (let at = piece.indexOf(separator); at >= 0; at = piece.indexOf(separator, at + 1)) {
    if (at < from || depth[at] !== 0) continue;
    pieces.push(piece.slice(from, at));
    from = at + separator.length;
  }
  return [...pieces, piece.slice(from)];
}
