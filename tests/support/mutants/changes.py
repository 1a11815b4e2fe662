"""Changes of recordings: other bytes, other digits, other values."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any


def other_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return the file with one to four changes, most of them within a few bytes."""
    text = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        length = min(rng.choice((1, 1, 1, 2, 4, 8, 64, 512)), len(text) - at)
        change = rng.randrange(6)
        if change <= 2:
            text[at : at + length] = rng.randbytes(length)
        elif change == 3:
            text[at : at + length] = bytes([rng.choice((0, 255))]) * length
        elif change == 4:
            other = rng.randrange(len(text) - length + 1)
            text[at : at + length] = text[other : other + length]
        elif rng.random() < 0.2 and len(text) > 1024:
            del text[at:]
            text = text or bytearray(b"\0")
    return bytes(text)


def other_digits(data: bytes, rng: random.Random) -> bytes:
    """Return a text in which some digits are others: it stays JSON, most often."""
    text = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(text))
        while not chr(text[at]).isdigit():
            at = rng.randrange(len(text))
        text[at] = rng.choice(b"0123456789")
    return bytes(text)


def other_values(content: dict[str, Any], rng: random.Random, odd: Sequence[Any]) -> dict[str, Any]:
    """Return a document in which some values, anywhere, are odd ones or gone."""
    changed = copy.deepcopy(content)
    for _ in range(rng.randint(1, 4)):
        place: Any = changed
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = rng.choice(keys)
            inner = place[key]
            if rng.random() < 0.2 or not isinstance(inner, dict | list) or not inner:
                break
            place = inner
        if rng.random() < 0.2:
            del place[key]
        else:
            place[key] = copy.deepcopy(rng.choice(odd))
        if not changed:
            break
    return changed
