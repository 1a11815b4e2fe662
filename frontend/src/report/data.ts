// The data of a report: JSON in the document, and the timeline's levels, packed and deflated.
import { unpack } from "../api/binary";
import type { Additions, TimelineLevel, Report, Timeline } from "../api/types";

export type ReportData = Report & Additions;

/** The report's data. Throws SyntaxError for a damaged document. */
export function readData(): ReportData {
  return JSON.parse(textOf("data")) as ReportData;
}

const textOf = (id: string): string => document.getElementById(id)?.textContent ?? "";

const levels = new Map<string, Promise<Timeline>>();

/** The timeline of a level; unpacked when it is first looked at. */
export function readLevel({ id }: TimelineLevel): Promise<Timeline> {
  const known = levels.get(id) ?? inflated(textOf(id)).then((packed) => unpack(packed) as Timeline);
  levels.set(id, known);
  return known;
}

/** What a text in base 64 of a zlib stream holds. */
export function inflated(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
