// The reader's notes on the time axis. They are in the URL, so that a link carries them: the logdir
// belongs to the training, and the server never writes to it.
import { useMemo } from "preact/hooks";
import { joinNames, splitNames } from "../../lib/name-path";
import { go, state } from "../../state/url";

export interface Note {
  start: number;
  /** As `start` for a time, later for a range. */
  stop: number;
  text: string;
}

const MOST = 12;
export const LONGEST = 120;
const NOTE = /^(-?\d{1,15})(?:\.\.(-?\d{1,15}))?~([\s\S]+)$/;

/** `1200~warm-up;3000..4000~why?`: text is never more than text, and what cannot be read is left out. */
export function parseNotes(text: string | null): Note[] {
  return splitNames(text)
    .flatMap((word) => {
      const [, start, stop, words] = NOTE.exec(word) ?? [];
      const plain = plainText(words ?? "");
      if (start === undefined || plain === "") return [];
      const [from, to] = [Number(start), Number(stop ?? start)];
      return [{ start: Math.min(from, to), stop: Math.max(from, to), text: plain }];
    })
    .slice(0, MOST);
}

export function notesText(notes: readonly Note[]): string | null {
  const words = notes.slice(0, MOST).map(({ start, stop, text }) => {
    const from = Math.round(start);
    const range = stop > start ? `${from}..${Math.round(stop)}` : String(from);
    return `${range}~${plainText(text)}`;
  });
  return joinNames(words) || null;
}

/** On one line, and short. */
const plainText = (text: string): string =>
  text
    .replace(/\p{Cc}+|\s+/gu, " ")
    .trim()
    .slice(0, LONGEST);

export interface Notes {
  notes: readonly Note[];
  full: boolean;
  add: (note: Note) => void;
  remove: (note: Note) => void;
}

export function useNotes(): Notes {
  const text = state.value.notes;
  const notes = useMemo(() => parseNotes(text), [text]);
  return {
    notes,
    full: notes.length >= MOST,
    add: (note) => go({ notes: notesText([...notes, note]) }, "replace"),
    remove: (note) => go({ notes: notesText(notes.filter((one) => one !== note)) }, "replace"),
  };
}
