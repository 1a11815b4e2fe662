"""Figures in words: a field's name says what its value is, ``total_ns``, ``peak_bytes``, ``share``.

Names from a trace may hold anything: control characters are shown as escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_SHARES = ("share", "utilisation")
_TIMES = (("s", 10**9), ("ms", 10**6), ("us", 10**3))
_SIZES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def title(name: str) -> str:
    """A field's name for people, without its unit."""
    return name.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")


def worded(name: str, value: Any) -> str:
    """A field's value with its unit; ``-`` if it is missing."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_ns") and isinstance(value, int):
        return _scaled(value, _TIMES, "ns")
    if name.endswith("bytes") and isinstance(value, int):
        return _scaled(value, _SIZES, "B")
    if name.endswith("bytes_per_s"):
        return f"{value / 1e9:.3g} GB/s"
    if name in _SHARES or name.endswith("_share"):
        return f"{100 * value:.1f} %"
    return f"{value:.4g}" if isinstance(value, float) else plain(str(value))


def plain(text: str) -> str:
    """Nothing in a name may move the cursor or colour the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _scaled(value: int, units: Sequence[tuple[str, int]], smallest: str) -> str:
    for unit, size in units:
        if abs(value) >= size:
            return f"{value / size:.3f} {unit}"
    return f"{value} {smallest}"
