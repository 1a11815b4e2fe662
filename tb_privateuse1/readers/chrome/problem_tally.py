"""Count the problems of a file while it is read, and report them as findings."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace.findings import ALL, Figures, Finding, Severity

_KILLED = say(
    "Was the job killed while it wrote? A file that is still being written is read "
    "again once it has grown."
)


class _Words(Struct, frozen=True):
    message: Text
    hint: Text | None = None
    severity: Severity = "warning"
    affects: tuple[Figures, ...] = ALL


_COPY = say("Was the file copied whole? Copy it again, or record the run again.")

_HISTORY = say("Take the snapshot while the history is still recorded.")

_WORDS: dict[str, _Words] = {
    "truncated": _Words(
        say("The file ends early: what came after its last complete event is lost."),
        _KILLED,
        "error",
    ),
    "gzip_damaged": _Words(
        say("The packed stream is damaged: what was packed behind the damage is lost."),
        _COPY,
        "error",
    ),
    "damaged": _Words(
        say("The file is damaged at {n} places, which are left out. The first: {example}"),
        say("Was the file copied whole? Events beside the damage are shown."),
    ),
    "too_damaged": _Words(
        say("The file is damaged at too many places: the rest of it is left out."), _COPY, "error"
    ),
    "metadata_damaged": _Words(
        say("The trace's metadata are damaged; some of them are missing."), affects=()
    ),
    "tables_damaged": _Words(
        say("The database is damaged: rows of these tables are lost: {example}."), _COPY, "error"
    ),
    "names_missing": _Words(
        say("{n} events of the device have no name that says what they are; they are not shown.")
    ),
    "names_lost": _Words(
        say(
            "{n} events are not shown, because packets before them were lost, which have their "
            "names."
        ),
        say("Record with a larger buffer, or write to a file while recording."),
    ),
    "several_processes": _Words(
        say(
            "{n} processes worked on devices; all are shown as one recording, in which steps and "
            "ranks cannot be told apart."
        ),
        say("Record each rank in a file of its own, with the rank in its name: job_rank0."),
    ),
    "several_event_lists": _Words(
        say("The file has {n} more lists of events; all are shown."), severity="info"
    ),
    "invalid_numbers": _Words(
        say("{n} values that JSON does not have (NaN, Infinity, N/A) count as missing."),
        severity="info",
    ),
    "invalid_strings": _Words(
        say(
            "{n} strings have control characters, bad escapes or no UTF-8; they are shown as "
            "far as they can be read. The first: {example}"
        ),
        severity="info",
    ),
    "trailing_commas": _Words(say("{n} commas too many are ignored."), severity="info"),
    "malformed_events": _Words(
        say("{n} events have fields of an impossible kind, for example: {example}")
    ),
    "events_without_time": _Words(say("{n} events have no time and are not shown.")),
    "impossible_times": _Words(
        say(
            "{n} events have a time or a length that no clock gives and are not shown, for "
            "example {example}."
        )
    ),
    "negative_durations": _Words(
        say("{n} events end before they start; their length counts as 0.")
    ),
    "unclosed_ranges": _Words(
        say("{n} ranges were begun and not ended; they are shown up to the end of the trace.")
    ),
    "unopened_ends": _Words(say("{n} ends of ranges that were not begun are not shown.")),
    "counters_no_number": _Words(
        say("{n} values of counters are no finite numbers and are not shown."), severity="info"
    ),
    "counters_dropped": _Words(
        say("The trace has too many counters: {n} values of all but the first are not shown.")
    ),
    "in_use_disagrees": _Words(
        say(
            "The snapshot's history does not lead to the blocks in use: the totals are unknown, "
            "and the curve is the sum of all changes."
        ),
        _HISTORY,
        affects=("memory",),
    ),
    "reserved_disagrees": _Words(
        say("The snapshot's history does not lead to its segments: reserved bytes are unknown."),
        _HISTORY,
        affects=("memory",),
    ),
    "no_history": _Words(
        say(
            "The snapshot has blocks of {n} devices without a history: they are shown as if they "
            "were allocated at its start."
        ),
        say("Call torch.<device>.memory._record_memory_history() before the allocations."),
        affects=("memory",),
    ),
    "stacks_dropped": _Words(
        say("The snapshot's stacks are too long together: {n} of them are not shown."),
        affects=("stacks",),
    ),
    "sizes_impossible": _Words(
        say("{n} entries of the history have no possible size; they are not shown."),
        affects=("memory",),
    ),
    "phase_not_shown": _Words(
        say("{n} events of phase {example!r} are not shown."), severity="info"
    ),
}

Problem = tuple[str, int, str]
"""Code, count and example."""

_MOST_PHASES = 10
"""Phases reported one by one; a hostile file has a million."""


class Tally:
    """Counts of problems by code, each with its first example."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._examples: dict[str, str] = {}

    def add(self, code: str, count: int = 1, example: object = "") -> None:
        """Count a problem ``count`` times; ignore it for 0."""
        if count:
            kind = ""
            if code == "phase_not_shown":
                kind = _short(example)
                if (code, kind) not in self._counts and len(self._counts) > _MOST_PHASES:
                    kind = "others"
            key = (code, kind)
            self._counts[key] = self._counts.get(key, 0) + count
            self._examples.setdefault(code, _short(example))

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally."""
        for (code, kind), count in other._counts.items():
            self.add(code, count, kind or other._examples[code])

    def problems(self) -> list[Problem] | None:
        """Return what was counted, in order; None if some phases share a count."""
        if len(self._counts) > _MOST_PHASES:
            return None
        return [
            (code, count, kind or self._examples[code])
            for (code, kind), count in self._counts.items()
        ]

    def join(self, problems: Iterable[Problem]) -> None:
        """Add the ``problems`` of a later part of the file."""
        for code, count, example in problems:
            self.add(code, count, example)

    def __contains__(self, code: str) -> bool:
        return any(code == counted for counted, _ in self._counts)

    def findings(self) -> tuple[Finding, ...]:
        """Return one finding per code, in order of first occurrence."""
        return tuple(self._finding(code, kind, n) for (code, kind), n in self._counts.items())

    def _finding(self, code: str, kind: str, count: int) -> Finding:
        words = _WORDS[code]
        message = fill(words.message, n=f"{count:,}", example=kind or self._examples[code])
        return Finding(code, message, words.hint, count, words.severity, words.affects)


def _short(example: object) -> str:
    text = example.decode("utf-8", "replace") if isinstance(example, bytes) else str(example)
    text = " ".join(text.split())
    return shorten(text, 120)
