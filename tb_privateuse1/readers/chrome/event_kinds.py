"""Number the kinds of events, phase and category, in order of first occurrence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tb_privateuse1.readers.chrome.event_schema import Event

Spelling = tuple[str, str | None]
"""Phase and category of an event, as the file has them."""

TIMED = frozenset("XsfiIBEC")
_MOST_KINDS, _OTHERS = 1000, "(others)"
"""A trace has dozens of kinds, each with its own columns. Further kinds of a hostile one share."""


class Kinds:
    """``pairs`` has phase and category by number, ``seed`` the first spellings, in that order."""

    def __init__(self, seed: Iterable[Spelling] = ()) -> None:
        self.pairs: list[tuple[str, str]] = []
        self._numbers: dict[str, dict[str | None, int]] = {}
        for spelling in seed:
            self._register(*spelling)

    def numbers(self, events: Sequence[Event]) -> list[int]:
        """Return the number of each event's kind."""
        numbers = self._numbers
        try:
            return [numbers[event.ph][event.cat] for event in events]
        except KeyError:
            for event in events:
                self._register(event.ph, event.cat)
            return [numbers[event.ph][event.cat] for event in events]

    def spellings(self) -> list[Spelling] | None:
        """Return the spelling of each kind; None if there are too many kinds."""
        if len(self.pairs) >= _MOST_KINDS:
            return None
        spelled = ((n, (ph, cat)) for ph, of in self._numbers.items() for cat, n in of.items())
        return [spelling for _, spelling in sorted(spelled)]

    def join(self, new: Sequence[Spelling]) -> bool:
        """Add the kinds of a later part of the file, which it has numbered behind a seed of ours.

        Return False, with nothing added, if they are in another order here: the order in which a
        window's events are sorted would not be ours.
        """
        missing = [(ph, cat) for ph, cat in new if cat not in self._numbers.get(ph, {})]
        if len(self.pairs) + len(missing) >= _MOST_KINDS:
            return False
        next_number = len(self.pairs)
        order = []
        for phase, category in new:
            number = self._numbers.get(phase, {}).get(category)
            if number is None:
                number, next_number = next_number, next_number + 1
            order.append(number)
        if order != sorted(order):
            return False
        for spelling in missing:
            self._register(*spelling)
        return True

    def _register(self, phase: str, category: str | None) -> None:
        categories = self._numbers.setdefault(phase, {})
        if category in categories:
            return
        kind = phase, category or ""
        if len(self.pairs) >= _MOST_KINDS:
            kind = phase if phase in TIMED else _OTHERS, _OTHERS
            if kind in self.pairs[_MOST_KINDS:]:
                categories[category] = self.pairs.index(kind, _MOST_KINDS)
                return
        categories[category] = len(self.pairs)
        self.pairs.append(kind)
