"""Whether traces are equal, here and between processes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.trace.model import TABLES, Trace


def same(one: Trace, other: Trace) -> bool:
    return one.meta == other.meta and all(
        (a == b).all()
        for name in TABLES
        for (_, a), (_, b) in zip(
            getattr(one, name).columns(), getattr(other, name).columns(), strict=True
        )
    )


def values(part: Any) -> Any:
    """All that a part has, with the type of each array."""
    if isinstance(part, np.ndarray):
        return part.dtype.name, part.tolist()
    if isinstance(part, Struct):
        return [(name, values(getattr(part, name))) for name in part.__struct_fields__]
    if isinstance(part, dict):
        return [(name, values(value)) for name, value in part.items()]
    if isinstance(part, tuple):
        return tuple(map(values, part))
    return part


def digest(trace: Trace) -> str:
    """Of all that a trace holds, but for the word that it could not be stored."""
    words = tuple(one for one in trace.meta.findings if one.code != "not_stored")
    meta = replace(trace.meta, findings=words)
    result = hashlib.sha256(repr((trace.strings, meta)).encode())
    for name in TABLES:
        for column, values in getattr(trace, name).columns():
            result.update(f"{column} {values.dtype}".encode() + values.tobytes())
    return result.hexdigest()
