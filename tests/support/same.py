"""Whether traces are equal, here and between processes."""

from __future__ import annotations

import hashlib

from tb_privateuse1.trace.model import TABLES, Trace


def same(one: Trace, other: Trace) -> bool:
    return one.meta == other.meta and all(
        (a == b).all()
        for name in TABLES
        for (_, a), (_, b) in zip(
            getattr(one, name).columns(), getattr(other, name).columns(), strict=True
        )
    )


def digest(trace: Trace) -> str:
    """Of all that a trace holds."""
    result = hashlib.sha256(repr((trace.strings, trace.meta)).encode())
    for name in TABLES:
        for column, values in getattr(trace, name).columns():
            result.update(f"{column} {values.dtype}".encode() + values.tobytes())
    return result.hexdigest()
