"""Whether two traces are equal."""

from __future__ import annotations

from tb_privateuse1.trace import TABLES, Trace


def same(one: Trace, other: Trace) -> bool:
    return one.meta == other.meta and all(
        (a == b).all()
        for name in TABLES
        for (_, a), (_, b) in zip(
            getattr(one, name).columns(), getattr(other, name).columns(), strict=True
        )
    )
