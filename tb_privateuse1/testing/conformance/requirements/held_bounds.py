"""Words for a backend if bounds of kernels of known length did not hold."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Verdict

_HELD, _SOME = 0.95, 0.8
"""Bounds are meant to hold in 19 of 20 cases. Below 4 of 5 the model does not fit the device."""


def verdict_on(held: int, count: int) -> Verdict:
    """Return the verdict on ``held`` of ``count`` bounds."""
    if held >= _HELD * count:
        return "ok"
    return "warn" if held >= _SOME * count else "fail"
