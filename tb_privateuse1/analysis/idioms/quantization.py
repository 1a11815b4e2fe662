"""Idiom: unfused quantization: scale, round, clamp, and often scale back at once."""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.idiom import Idiom, Members
from tb_privateuse1.trace.table import Bools


def recognizes(members: Members) -> Bools:
    """Return which chains round and limit."""
    found: Bools = members.has("round", "floor", "trunc") & members.has(
        "clamp", "clip", "clamp_min", "clamp_max", "minimum", "maximum"
    )
    return found


IDIOM = Idiom("quantization", recognizes)
