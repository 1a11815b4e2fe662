"""What was wrong with a file: counted with one example while it is read, told as findings."""

from __future__ import annotations

from tb_privateuse1.trace import Finding

_KILLED = (
    "Was the job killed while it wrote? A file that is still being written is read again once it "
    "has grown."
)

_WORDS: dict[str, tuple[str, str | None]] = {
    "truncated": ("The file ends early: what came after its last complete event is lost.", _KILLED),
    "gzip_damaged": (
        "The gzip stream is damaged: what was packed behind the damage is lost.",
        "Was the file copied whole? Copy it again, or record the run again.",
    ),
    "damaged": (
        "The file is damaged at {n} places, which are left out. The first: {example}",
        "Was the file copied whole? Events beside the damage are shown.",
    ),
    "too_damaged": ("The file is damaged at too many places: the rest of it is left out.", None),
    "metadata_damaged": ("The trace's metadata are damaged; some of them are missing.", None),
    "several_event_lists": ("The file has {n} more lists of events; all are shown.", None),
    "invalid_numbers": (
        "{n} values that JSON does not have (NaN, Infinity, N/A) count as missing.",
        None,
    ),
    "invalid_strings": (
        "{n} strings have control characters, bad escapes or no UTF-8; they are shown as far as "
        "they can be read. The first: {example}",
        None,
    ),
    "trailing_commas": ("{n} commas too many are ignored.", None),
    "malformed_events": (
        "{n} events have fields of an impossible kind, for example: {example}",
        None,
    ),
    "events_without_time": ("{n} events have no time and are not shown.", None),
    "impossible_times": (
        "{n} events have a time or a length that no clock gives and are not shown, for example "
        "{example}.",
        None,
    ),
    "negative_durations": ("{n} events end before they start; their length counts as 0.", None),
    "unclosed_ranges": (
        "{n} ranges were begun and not ended; they are shown up to the end of the trace.",
        None,
    ),
    "unopened_ends": ("{n} ends of ranges that were not begun are not shown.", None),
}


class Tally:
    """Counts by code, each with its first example."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._examples: dict[str, str] = {}

    def add(self, code: str, count: int = 1, example: object = "") -> None:
        """Something happened ``count`` times; nothing is noted for 0."""
        if count:
            key = (code, str(example) if code == "phase_not_shown" else "")
            self._counts[key] = self._counts.get(key, 0) + count
            self._examples.setdefault(code, _short(example))

    def merge(self, other: Tally) -> None:
        """All that another one counted."""
        for (code, kind), count in other._counts.items():
            self.add(code, count, kind or other._examples[code])

    def __contains__(self, code: str) -> bool:
        return any(code == told for told, _ in self._counts)

    def findings(self) -> tuple[Finding, ...]:
        """One for each code, in order of first occurrence."""
        return tuple(self._finding(code, kind, n) for (code, kind), n in self._counts.items())

    def _finding(self, code: str, kind: str, count: int) -> Finding:
        if code == "phase_not_shown":
            message = f"{count} events of phase {kind!r} are not shown."
            return Finding(code, message, count=count)
        words, hint = _WORDS[code]
        message = words.format(n=f"{count:,}", example=self._examples[code])
        return Finding(code, message, hint, count)


def _short(example: object) -> str:
    text = example.decode("utf-8", "replace") if isinstance(example, bytes) else str(example)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:119] + "…"
