// Names as compilers of the Itanium ABI mangle them: `_ZN5aiter6kernelIfLi4EEEvPf` is
// `aiter::kernel<float, 4>`. Only what a short name shows is read: names, template arguments and
// numbers. Parameters, substitutions and expressions are left out.
// https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling

/** A name without its namespaces. */
export interface Part {
  name: string;
  /** Its template arguments; none of a function, null of another type. */
  args: readonly Part[] | null;
  /** A number, or a type of the language or its library: it is left out first. */
  plain: boolean;
}

const BUILTIN: Readonly<Record<string, string>> = {
  v: "void",
  b: "bool",
  c: "char",
  a: "schar",
  h: "uchar",
  s: "short",
  t: "ushort",
  i: "int",
  j: "uint",
  l: "long",
  m: "ulong",
  x: "llong",
  y: "ullong",
  f: "float",
  d: "double",
  Dh: "half",
  DF16_: "half",
  DF16b: "bfloat16",
};

const unread: Part = { name: "…", args: null, plain: true };

/** The function that a mangled name stands for, as far as it is understood; null if it is not. */
export function demangled(name: string): Part | null {
  const reader = new Reader(name.slice(2));
  try {
    return reader.name();
  } catch (error) {
    if (error instanceof Unreadable) return reader.begun;
    throw error;
  }
}

class Unreadable extends Error {}

class Reader {
  #at = 0;
  #depth = 0;
  #own: string | null = null;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The function's name, where its arguments are not understood. */
  get begun(): Part | null {
    return this.#own === null ? null : { name: this.#own, args: [unread], plain: false };
  }

  /** A nested or a plain name with its template arguments. */
  name(): Part {
    if (!this.#take(/N[rVK]*/y)) return this.#withArguments(this.#source());
    let own = unread;
    while (!this.#take(/E/y)) {
      if (this.#take(/S[0-9A-Z]*_|S[abdiost]|T[0-9]*_|[CD][0-9]/y)) own = this.#withArguments(unread.name);
      else own = this.#withArguments(this.#source());
    }
    return own.name === unread.name ? unread : own;
  }

  #withArguments(name: string): Part {
    if (this.#depth === 0) this.#own = name;
    return { name, args: this.#peek("I") ? this.#arguments() : null, plain: false };
  }

  #arguments(): Part[] {
    const args: Part[] = [];
    this.#depth += 1;
    this.#take(/[IJ]/y);
    while (!this.#take(/E/y)) {
      if (this.#peek("J")) args.push(...this.#arguments());
      else args.push(this.#argument());
    }
    this.#depth -= 1;
    return args;
  }

  #argument(): Part {
    if (this.#take(/[PRKOV]+/y)) {
      this.#argument();
      return unread;
    }
    if (this.#take(/L/y)) return this.#literal();
    if (this.#take(/S[0-9A-Z]*_|T[0-9]*_/y)) {
      if (this.#peek("I")) this.#arguments();
      return unread;
    }
    const builtin = this.#take(/DF16[_b]|Dh|[vbcahstijlmxyfd]/y);
    if (builtin) return { name: BUILTIN[builtin] ?? builtin, args: null, plain: true };
    return this.name();
  }

  /** `Li4E`, `Lb1E`, or `LN1a4EnumE3E`. */
  #literal(): Part {
    const type = this.#argument();
    const value = this.#take(/n?[0-9]+/y);
    if (value === null || this.#take(/E/y) === null) throw new Unreadable();
    const number = value.replace("n", "-");
    return { name: type.name === "bool" ? String(value === "1") : number, args: null, plain: true };
  }

  /** `5mydog`, an anonymous namespace included. */
  #source(): string {
    const length = Number(this.#take(/[0-9]+/y) ?? Number.NaN);
    const name = this.#text.slice(this.#at, this.#at + length);
    if (!length || name.length !== length) throw new Unreadable();
    this.#at += length;
    return name;
  }

  #peek(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (!found) return null;
    this.#at += found[0].length;
    return found[0];
  }
}
