// The menu of notes: a new one, and those that are there.
import { useState } from "preact/hooks";
import { duration } from "../../lib/format";
import { t } from "../../i18n";
import { Popover } from "../../widgets/controls/popover";
import type { Camera } from "../../widgets/timeline/camera";
import { LONGEST, type Note, type Notes } from "./notes";
import "./notes-menu.css";

const texts = t.timelineMarks;

interface NotesMenuProps {
  notes: Notes;
  /** What a new note is on: a range, or a time (`start` = `stop`). */
  place: () => Camera;
}

export function NotesMenu({ notes, place }: NotesMenuProps) {
  return (
    <Popover
      label={texts.notes}
      title={texts.notesHelp}
      class="quiet"
      testid="notes"
      attributes={{ "data-value": String(notes.notes.length) }}
    >
      {(close) => <Panel {...{ notes, place, close }} />}
    </Popover>
  );
}

const whereOf = ({ start, stop }: Camera): string =>
  stop > start ? texts.between(duration(start), duration(stop)) : texts.at(duration(start));

function Panel({ notes, place, close }: NotesMenuProps & { close: () => void }) {
  const [on] = useState(place);
  const [text, setText] = useState("");
  return (
    <div class="notespanel">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (text.trim() === "") return;
          notes.add({ start: Math.round(on.start), stop: Math.round(on.stop), text });
          close();
        }}
      >
        <label>
          {texts.newNote(whereOf(on))}
          <input
            type="text"
            value={text}
            maxLength={LONGEST}
            disabled={notes.full}
            data-testid="note-text"
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={notes.full || text.trim() === ""} data-testid="note-save">
          {texts.save}
        </button>
      </form>
      {notes.full && <p class="muted">{texts.full}</p>}
      <ul>
        {notes.notes.map((note) => (
          <NoteLine key={`${note.start} ${note.text}`} note={note} remove={() => notes.remove(note)} />
        ))}
      </ul>
      <p class="muted">{texts.kept}</p>
    </div>
  );
}

function NoteLine({ note, remove }: { note: Note; remove: () => void }) {
  return (
    <li>
      <span>
        {note.text} <small class="muted">{whereOf(note)}</small>
      </span>
      <button
        type="button"
        class="quiet"
        aria-label={texts.removeNote(note.text)}
        data-testid="note-remove"
        onClick={remove}
      >
        ✕
      </button>
    </li>
  );
}
