// Marks on the time axis, kept in the URL.
import { useMemo } from "preact/hooks";
import { go, state } from "../../state/url";
import { span, type Camera } from "../../widgets/timeline/camera";

const MOST = 8;

export interface Marks {
  marks: readonly number[];
  /** Sets a mark there, or removes those close by. */
  toggle: (at: number, camera: Camera) => void;
}

export function useMarks(): Marks {
  const text = state.value.marks;
  const marks = useMemo(() => parseMarks(text), [text]);
  const toggle = (at: number, camera: Camera): void => {
    const rest = marks.filter((mark) => Math.abs(mark - at) > span(camera) / 100);
    const next = rest.length < marks.length ? rest : [...marks, Math.round(at)].slice(-MOST);
    go({ marks: next.join(",") || null }, "replace");
  };
  return { marks, toggle };
}

function parseMarks(text: string | null): number[] {
  return (text ?? "")
    .split(",")
    .filter((mark) => /^-?\d{1,15}$/.test(mark))
    .map(Number);
}

/** Between the two marks that were set last. */
export const betweenMarks = (marks: readonly number[]): Camera | null =>
  marks.length < 2 ? null : { start: Math.min(...marks.slice(-2)), stop: Math.max(...marks.slice(-2)) };
