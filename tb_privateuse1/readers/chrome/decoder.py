"""Decode the text of a window into typed events."""

from __future__ import annotations

import msgspec

from tb_privateuse1.readers.chrome.event_schema import FAST, LOOSE, Event
from tb_privateuse1.readers.chrome.json_values import BROKEN
from tb_privateuse1.readers.chrome.problem_tally import Tally

_MAX_MISSES = 3
"""Windows that do not fit the fast shape, after which the loose one is tried first."""

# Made at import: msgspec inspects a class on first use and crashes if two threads do so at once.
_FAST = msgspec.json.Decoder(list[FAST])  # type: ignore[valid-type]
_LOOSE = msgspec.json.Decoder(list[LOOSE])  # type: ignore[valid-type]
_ONE = msgspec.json.Decoder(LOOSE)


def list_of_raw(text: bytes) -> list[msgspec.Raw]:
    """Return the elements of a list, undecoded."""
    return msgspec.json.decode(text, type=list[msgspec.Raw])


def decode_sound(text: bytes, *, exact: bool) -> list[Event | None] | None:
    """Return what a ``Decoder`` makes of a list without counting anything; None if it counts."""
    try:
        return (_LOOSE if exact else _FAST).decode(text)
    except (msgspec.ValidationError, *BROKEN):
        return None


class Decoder:
    """Decodes ``[…]``, in the fast shape if it fits; a ``malformed`` event becomes None."""

    def __init__(self, tally: Tally) -> None:
        self.malformed = 0
        self._tally = tally
        self._misses = 0

    def decode(self, text: bytes) -> list[Event | None]:
        """Return the events of a list. Raises one of ``BROKEN`` for invalid JSON."""
        if not self.is_exact:
            try:
                return _FAST.decode(text)
            except msgspec.ValidationError:
                self._misses += 1
        return self._exactly(text)

    @property
    def is_exact(self) -> bool:
        """Return whether each text is decoded with exact times from now on."""
        return self._misses >= _MAX_MISSES

    def exact(self, text: bytes) -> list[Event | None]:
        """Decode the same text with exact times, and all later texts too."""
        self._misses = _MAX_MISSES
        return self._exactly(text)

    def _exactly(self, text: bytes) -> list[Event | None]:
        try:
            return _LOOSE.decode(text)
        except msgspec.ValidationError:
            return self._each(text)

    def _each(self, text: bytes) -> list[Event | None]:
        """Decode events singly and count those dropped: one bad event must not cost the rest."""
        events: list[Event | None] = []
        errors: list[str] = []
        for event in list_of_raw(text):
            try:
                events.append(_ONE.decode(event))
            except msgspec.ValidationError as error:
                errors.append(str(error))
                events.append(None)
        self.malformed += len(errors)
        self._tally.add("malformed_events", len(errors), errors[0] if errors else "")
        return events
