"""Format durations and shares for texts: ``1.2 ms``, ``3.0 %``."""

from __future__ import annotations

from tb_privateuse1.i18n import say

_SECOND, _MILLISECOND = 1_000_000_000, 1_000_000  # ns


def write_duration(ns: int) -> str:
    """Return a duration as text, in s, ms or µs; files of whole µs have durations of 0."""
    if ns >= _SECOND:
        return say("{value:,.3g} s", value=ns / _SECOND)
    if ns >= _MILLISECOND:
        return say("{value:,.3g} ms", value=ns / _MILLISECOND)
    if not ns:
        return say("less than 1 µs")
    return say("{value:,.3g} µs", value=ns / 1000)


def write_share(share: float) -> str:
    """Return a share (0 to 1) as text, in per cent with a decimal."""
    return say("{value:.1f} %", value=100 * share)
