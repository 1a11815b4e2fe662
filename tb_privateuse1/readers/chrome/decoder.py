"""The text of a window -> typed events."""

from __future__ import annotations

import msgspec

from tb_privateuse1.readers.chrome.event_schema import FAST, LOOSE, Event
from tb_privateuse1.readers.chrome.problem_tally import Tally

_MAX_MISSES = 3
"""Windows that are not of the fast shape before the loose one is tried at once."""

# Here, as in ``cache``.
_FAST = msgspec.json.Decoder(list[FAST])  # type: ignore[valid-type]
_LOOSE = msgspec.json.Decoder(list[LOOSE])  # type: ignore[valid-type]
_ONE = msgspec.json.Decoder(LOOSE)


def list_of_raw(text: bytes) -> list[msgspec.Raw]:
    """The elements of a list, undecoded."""
    return msgspec.json.decode(text, type=list[msgspec.Raw])


class Decoder:
    """``[…]`` -> events, of the fast shape where that fits; None where one is ``malformed``."""

    def __init__(self, tally: Tally) -> None:
        self.malformed = 0
        self._tally = tally
        self._misses = 0

    def decode(self, text: bytes) -> list[Event | None]:
        """The events of a list. Raises what msgspec does for text that is no list in JSON."""
        if self._misses < _MAX_MISSES:
            try:
                return _FAST.decode(text)
            except msgspec.ValidationError:
                self._misses += 1
        return self._exactly(text)

    def exact(self, text: bytes) -> list[Event | None]:
        """The same events again, with exact times; so are all that follow."""
        self._misses = _MAX_MISSES
        return self._exactly(text)

    def _exactly(self, text: bytes) -> list[Event | None]:
        try:
            return _LOOSE.decode(text)
        except msgspec.ValidationError:
            return self._each(text)

    def _each(self, text: bytes) -> list[Event | None]:
        """One odd event must not cost the rest: decode them singly and count what is dropped."""
        events: list[Event | None] = []
        odd: list[str] = []
        for one in list_of_raw(text):
            try:
                events.append(_ONE.decode(one))
            except msgspec.ValidationError as error:
                odd.append(str(error))
                events.append(None)
        self.malformed += len(odd)
        self._tally.add("malformed_events", len(odd), odd[0] if odd else "")
        return events
