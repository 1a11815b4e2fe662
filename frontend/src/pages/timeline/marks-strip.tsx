// Below the ruler: findings of the advice where their evidence lies, and the reader's notes.
import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { AdviceTable } from "../../api/types";
import { duration } from "../../lib/format";
import { linkProps } from "../../state/links";
import type { Selected } from "../../state/selection";
import { go, state } from "../../state/url";
import { useView } from "../../state/use-result";
import { t } from "../../i18n";
import { around, centered, type Camera } from "../../widgets/timeline/camera";
import { clustered, insightsOf, type Cluster, type Insight } from "./insights";
import { NotesMenu } from "./notes-menu";
import type { Note, Notes } from "./notes";
import "./marks-strip.css";

const texts = t.timelineMarks;
const MOST_TITLES = 6;
const NONE: readonly Insight[] = [];

interface StripProps {
  selected: Selected;
  /** To be added to the first rank's times. */
  shift: number;
  camera: Camera;
  move: (camera: Camera) => void;
  all: Camera;
  notes: Notes;
  /** What a new note is on. */
  place: () => Camera;
  left: number;
  width: number;
}

export function MarksStrip({ selected, shift, left, ...props }: StripProps) {
  const on = state.value.findings === null;
  // Others go before: the timeline is what was asked for.
  const asked = useView("advice", selected, on ? {} : null, selected.place.step, true);
  const found = asked.loaded.status === "ready" ? asked.loaded.value : null;
  return (
    <div class="marksstrip" data-testid="marks-strip">
      <div class="corner" style={{ width: `${left}px` }}>
        <button
          type="button"
          class="quiet"
          aria-pressed={on}
          title={texts.findingsHelp}
          data-testid="findings-on-timeline"
          data-value={on ? (found?.rows.length ?? "") : ""}
          onClick={() => go({ findings: on ? "0" : null }, "replace")}
        >
          {texts.findings}
        </button>
        <NotesMenu {...props} />
      </div>
      <Marks found={on ? found : null} shift={shift} {...props} />
    </div>
  );
}

type MarksProps = Pick<StripProps, "shift" | "camera" | "move" | "all" | "notes" | "width"> & {
  found: AdviceTable | null;
};

function Marks({ found, shift, camera, move, all, notes, width }: MarksProps) {
  const insights = useMemo(() => (found ? insightsOf(found, shift) : NONE), [found, shift]);
  return (
    <div class="marks">
      {clustered(insights, camera, width).map((one) => (
        <InsightMark key={`${one.insights[0].rule} ${one.insights[0].at}`} cluster={one} />
      ))}
      {notes.notes.map((note) => (
        <NoteMark key={`${note.start} ${note.text}`} {...{ note, camera, move, all, width }} />
      ))}
    </div>
  );
}

function InsightMark({ cluster: { x, insights } }: { cluster: Cluster }) {
  const [first] = insights;
  // The address, which the link has, changes less often than the camera moves.
  const link = useComputed(() => linkProps({ view: "advice", selected: first.rule })).value;
  const titles = [...new Set(insights.map((one) => one.title))];
  const shown = titles.slice(0, MOST_TITLES);
  const title = [
    ...shown,
    titles.length > shown.length ? texts.more(titles.length - shown.length) : "",
    texts.evidence(first.name, duration(first.at)),
    texts.toAdvice,
  ];
  return (
    <a
      {...link}
      class={`insight ${first.severity}`}
      style={{ left: `${x}px` }}
      title={title.filter(Boolean).join("\n")}
      aria-label={texts.finding(titles.join("; "), duration(first.at))}
      data-testid="insight"
      data-rule={first.rule}
      data-at={first.at}
    >
      {titles.length > 1 ? titles.length : "!"}
    </a>
  );
}

/** A range with room around it, a time in the middle of as much as is shown now. */
const shownAround = ({ start, stop }: Note, camera: Camera, all: Camera): Camera =>
  stop > start ? around(start, stop, all) : centered(camera, start, all);

interface NoteMarkProps extends Pick<StripProps, "camera" | "move" | "all" | "width"> {
  note: Note;
}

function NoteMark({ note, camera, move, all, width }: NoteMarkProps) {
  const scale = width / Math.max(1, camera.stop - camera.start);
  const [from, to] = [(note.start - camera.start) * scale, (note.stop - camera.start) * scale];
  if (to < 0 || from > width) return null;
  const left = Math.max(0, from);
  return (
    <button
      type="button"
      class="note"
      style={{ left: `${left}px`, minWidth: `${Math.min(to, width) - left}px` }}
      title={`${note.text}\n${texts.at(duration(note.start))}`}
      data-testid="note"
      onClick={() => move(shownAround(note, camera, all))}
    >
      {note.text}
    </button>
  );
}
