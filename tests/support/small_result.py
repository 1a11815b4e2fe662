"""A small result with all kinds of fields."""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.trace.findings import Finding


class Row(Struct, frozen=True):
    name: str
    total_ns: int | None
    moved_bytes: int
    share: float
    incomplete: bool


class Source(Struct, frozen=True):
    timeline: str
    warnings: tuple[Finding, ...]
    files: tuple[str, ...]


class Result(Struct, frozen=True):
    provenance: Source
    table: tuple[Row, ...]
    step_ns: int


RESULT = Result(
    Source("none", (Finding("c", "odd \x1b[1m", "mend it"),), ()),
    (Row("a,\x07b", 1_500_000, 2048, 0.125, True), Row("long name", None, 3, 1.0, False)),
    999,
)
