"""The accuracy class of a backend: what a recording of it can say about the device.

The class is that of the weakest link. A backend that measures only sums cannot be better than C,
however well they are measured; a line that fails makes every figure doubtful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tb_privateuse1.testing.conformance.lines import Line
from tb_privateuse1.testing.conformance.truth import Truth
from tb_privateuse1.trace.accuracy import MEANINGS

UNUSABLE = frozenset(
    {"renamed", "registered", "stubs_called", "elapsed_read", "elapsed_unit", "asynchronous"}
)
"""Requirements without which no device time is left, where they fail."""
_PROVEN = 0.95
"""The share of bounds that must hold for A and B: they are meant to hold in 19 of 20 cases."""
_FEW_NS = 10_000
"""The bound of a start that still tells two kernels of a training apart: these take 10 µs or so."""


@dataclass(frozen=True)
class Grade:
    """A class from A to E, and why it is no better."""

    letter: str
    reason: str

    @property
    def meaning(self) -> str:
        """Return what a recording of this class can say."""
        return MEANINGS[self.letter]


def grade(lines: Sequence[Line], truth: Truth | None) -> Grade:
    """Return the class that all lines, and the work of known length, allow."""
    verdict = {line.requirement.code: line.answer.verdict for line in lines}
    failed = [code for code, one in verdict.items() if one == "fail"]
    if lost := [code for code in failed if code in UNUSABLE]:
        return Grade("E", _codes(lost, "fails", "fail"))
    if failed:
        return Grade("D", _codes(failed, "fails", "fail"))
    if truth is None:
        return Grade("C", "work of known length could not be recorded")
    if verdict.get("elapsed_kind") == "warn":
        return Grade("C", "elapsed times are sums of kernels")
    if truth.coverage < _PROVEN:
        return Grade("C", f"{truth.coverage:.0%} of the bounds held")
    doubtful = [code for code, one in verdict.items() if one == "warn"]
    if doubtful:
        return Grade("B", _codes(doubtful, "warns", "warn"))
    unknown = [code for code, one in verdict.items() if one == "unknown"]
    if unknown:
        return Grade("B", _codes(unknown, "is unknown", "are unknown"))
    if truth.start_bound_ns > _FEW_NS:
        return Grade("B", f"starts are known to {truth.start_bound_ns / 1000:.0f} µs")
    checked = "no line fails or warns"
    if truth.start_room_ns > _FEW_NS:  # the host's, and no reason for another class of the backend
        checked += f"; the host checked starts to ±{truth.start_room_ns / 1000:.0f} µs only"
    return Grade("A", checked)


def _codes(codes: Sequence[str], one: str, several: str) -> str:
    """Return words for what the lines with these codes do."""
    if len(codes) == 1:
        return f"the line {codes[0]} {one}"
    return f"the lines {', '.join(codes)} {several}"
