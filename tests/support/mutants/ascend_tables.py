"""Mutants of an Ascend folder's tables: units and blocks are those of ``csv``."""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

from tb_privateuse1 import readers
from tb_privateuse1.readers.raw import Raw
from tests.support import ascend
from tests.support.mutants.changes import other_bytes, other_digits
from tests.support.mutants.harness import Format, Mutate, Reading, with_trace

KERNELS, BLOCKS = "kernel_details.csv", "operator_memory.csv"
_UNREADABLE = (ValueError, KeyError, ArithmeticError, AttributeError, TypeError, csv.Error)
_NOTHING = ("", "N/A", "NA", "nan", "None")
_MICROSECONDS = re.compile(r"[0-9]{1,16}(\.[0-9]*)?")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]*)?([eE]-?[0-9]{1,2})?")

Sums = tuple[int, int]
"""Of blocks: memory events and the sum of their bytes; of kernels: with a unit, and their time."""


def make(name: str, folder: Path) -> Sequence[Mutate]:
    """Write the folder; return changes of bytes and of digits of one of its tables."""
    program = ascend.Program(steps=2)
    output = program.folder(folder, forms=("json", "csv")) / "ASCEND_PROFILER_OUTPUT"
    path = output / name
    data = path.read_bytes()
    return (
        lambda rng: (path, other_bytes(data, rng)),
        lambda rng: (path, other_digits(data, rng)),
    )


def read(path: Path) -> Reading:
    """Read the trace with the table beside it."""
    trace = path.with_name("trace_view.json")
    return with_trace(readers.complete(readers.read(str(trace)), [str(path)]))


def plain_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows that ``csv`` reads."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))


def read_blocks(found: Reading) -> Sums:
    """Return what the reader has of the blocks."""
    raw = found.raw
    return len(raw.memory), sum(raw.memory.ids["memory_bytes"].tolist())


def plain_blocks(path: Path, raw: Raw) -> Sums:
    """Return the same of the rows."""
    events = total = 0
    for row in plain_rows(path):
        size = _bytes(row["Size(KB)"].strip())
        allocated = _ns(row["Allocation Time(us)"])
        released = _ns(row["Release Time(us)"]) or _ns(row["Active Release Time(us)"])
        events += 1 + (released is not None)
        total += size * (released is None)
        if not allocated or (released is not None and released < allocated):
            raise AssertionError(f"a row without a finding: {row}")
    return events, total


def read_units(found: Reading) -> Sums:
    """Return what the reader has of the kernels' units."""
    raw = found.raw
    count = duration_ns = 0
    for group in raw.groups.values():
        has_unit = group.text("unit") >= 0
        count += int(has_unit.sum())
        duration_ns += int((group.end_ns - group.start_ns)[has_unit].sum())
    return count, duration_ns


def plain_units(path: Path, raw: Raw) -> Sums:
    """Return the same of the rows, by the kernels' names and starts."""
    known: dict[tuple[str, int], str] = {}
    for row in plain_rows(path):
        start = _ns(row.get("Start Time(us)", ""))
        if start is not None:
            known.setdefault((row["Name"].strip(), start), row.get("Accelerator Core", "").strip())
    count = duration_ns = 0
    for group in raw.groups.values():
        names = [raw.strings[i] for i in group.name.tolist()]
        times = zip(names, group.start_ns.tolist(), group.end_ns.tolist(), strict=True)
        for name, start, end in times:
            if known.get((name, start), "") not in _NOTHING:
                count += 1
                duration_ns += end - start
    return count, duration_ns


def _ns(text: str) -> int | None:
    text = text.strip()
    if not _MICROSECONDS.fullmatch(text):
        return None
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int(part[:3].ljust(3, "0"))


def _bytes(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise AssertionError(f"a size without a finding: {text}")
    return round(Decimal(text) * 1024)


def _format(
    name: str, sums: Callable[[Reading], Sums], plain: Callable[[Path, Raw], Sums]
) -> Format:
    return Format(
        functools.partial(make, name),
        sums,
        plain,
        read,
        unreadable=_UNREADABLE,
        refusals=frozenset(),
        least={"same": 0.1, "partial": 0.1},
        count=100,
    )


FORMATS = {
    "ascend_kernels": _format(KERNELS, read_units, plain_units),
    "ascend_blocks": _format(BLOCKS, read_blocks, plain_blocks),
}
