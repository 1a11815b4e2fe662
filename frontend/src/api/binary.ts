// Results with columns of numbers: JSON, then the columns as they are in the server's memory
// (`views/encoding.py`). The arrays are views of the answer's buffer: nothing is copied.

type Column = Float64Array | Float32Array | Int32Array | Int16Array | Int8Array;

const OF: Readonly<Record<string, (buffer: ArrayBuffer, at: number, n: number) => Column>> = {
  float64: (buffer, at, n) => new Float64Array(buffer, at, n),
  float32: (buffer, at, n) => new Float32Array(buffer, at, n),
  int32: (buffer, at, n) => new Int32Array(buffer, at, n),
  int16: (buffer, at, n) => new Int16Array(buffer, at, n),
  int8: (buffer, at, n) => new Int8Array(buffer, at, n),
};

export const PACKED = "application/octet-stream";

/** The result in an answer. Throws RangeError or SyntaxError for what is none. */
export function unpack(buffer: ArrayBuffer): unknown {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  const base = Math.ceil((4 + length) / 8) * 8;
  return JSON.parse(text, (_key, value: unknown) => {
    const place = (value as { $column?: [string, number, number] } | null)?.$column;
    if (!place) return value;
    const make = OF[place[0]];
    if (!make) throw new RangeError(`a column of ${place[0]}`);
    return make(buffer, base + place[1], place[2]);
  });
}
