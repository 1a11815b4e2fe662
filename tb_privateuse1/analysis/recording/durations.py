"""Format durations for texts: ``1.20 ms``."""

from __future__ import annotations

from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import significant

_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000))  # ns


def write_duration(ns: int) -> str:
    """Return a duration as text, in s, ms or µs; files of whole µs have durations of 0."""
    if not ns:
        return say("less than 1 µs")
    # The unit is chosen after rounding, as the pages do: 999,999 ns is 1.00 ms.
    unit, size = next(
        (one for one in _UNITS if float(f"{abs(ns):.3g}") >= one[1]),
        _UNITS[-1],
    )
    return f"{significant(ns / size)} {unit}"
