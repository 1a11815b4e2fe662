"""The JSON of a report within a number of bytes, whatever a recording holds.

Views limit their rows, but not everything: a recording may have 100,000 steps, and names of any
length. If the JSON is too long, lists and texts are cut, ever shorter, until it fits. What was cut
is counted, and the report states it.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from tb_privateuse1.i18n.units import shorten

_LIMITS = ((2000, 4000), (500, 1000), (200, 400), (60, 200), (20, 120), (8, 80), (3, 40), (1, 20))
"""The most items of a list and characters of a text, from generous to poor."""


class Cut(Struct, frozen=True):
    """A list that a report has only a part of."""

    name: str
    """Its place: the names of the fields, separated by dots."""
    shown: int
    total: int


def fit(value: Any, most_bytes: int) -> tuple[Any, tuple[Cut, ...], int]:
    """Return JSON-like data of at most ``most_bytes``, the cut lists, and the texts' most letters.

    ``value`` is of dicts, lists and plain values. Raises ValueError if nothing fits.
    """
    for items, letters in _LIMITS:
        cuts: dict[str, Cut] = {}
        found = _cut(value, items, letters, (), cuts)
        if len(to_script(found)) <= most_bytes:
            return found, tuple(cuts.values()), letters
    raise ValueError(f"a report does not fit into {most_bytes} bytes")


def to_script(value: Any) -> bytes:
    """Return JSON that may stand in a ``<script>`` element: it holds no ``<``, and no line ends
    but those of JSON.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


def _cut(value: Any, items: int, letters: int, path: tuple[str, ...], cuts: dict[str, Cut]) -> Any:
    if isinstance(value, str):
        return shorten(value, letters)
    if isinstance(value, dict):
        return {k: _cut(v, items, letters, (*path, k), cuts) for k, v in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > items:
        name = ".".join(path)
        before = cuts.get(name, Cut(name, 0, 0))
        cuts[name] = Cut(name, before.shown + items, before.total + len(value))
    return [_cut(one, items, letters, path, cuts) for one in value[:items]]
