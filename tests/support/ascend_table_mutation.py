"""Mutate the tables of an Ascend folder: sums stay, or a finding says what is wrong.

    python -m tests.support.ascend_table_mutation --count 20000 --seed 1

Kernels' units and blocks of memory are compared with plain loops over the rows of ``csv``.
"""

from __future__ import annotations

import csv
import io
import random
import re
import sys
import tempfile
import time
import warnings
from argparse import ArgumentParser
from collections import Counter
from decimal import Decimal
from pathlib import Path

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.raw import Raw
from tests.support import ascend
from tests.support.database_mutation import SLOWEST_S, mutated
from tests.support.file_mutation import with_other_digits

KERNELS, BLOCKS = "kernel_details.csv", "operator_memory.csv"
_UNREADABLE = (ValueError, KeyError, ArithmeticError, AttributeError, TypeError, csv.Error)
_NOTHING = ("", "N/A", "NA", "nan", "None")
_MICROSECONDS = re.compile(r"[0-9]{1,16}(\.[0-9]*)?")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]*)?([eE]-?[0-9]{1,2})?")

Sums = tuple[int, int]
"""Of blocks: memory events and the sum of their bytes; of kernels: with a unit, and their time."""


def outcome(trace: Path, path: Path, data: bytes) -> str:
    """What becomes of a mutated table.

    ``same``: sums are those of plain loops. ``partial``: findings say what is wrong.
    ``unchecked``: plain Python cannot read it.
    """
    path.write_bytes(data)
    started = time.process_time()
    raw = readers.complete(readers.read(str(trace)), [str(path)])
    inference.build_trace(raw, None)
    assert time.process_time() - started < SLOWEST_S
    if raw.findings:
        return "partial"
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
        expected = plain_blocks(rows) if path.name == BLOCKS else plain_units(rows, raw)
    except _UNREADABLE:
        return "unchecked"
    assert (read_blocks(raw) if path.name == BLOCKS else read_units(raw)) == expected, data
    return "same"


def read_blocks(raw: Raw) -> Sums:
    """Return what the reader has of the blocks."""
    return len(raw.memory), sum(raw.memory.ids["memory_bytes"].tolist())


def plain_blocks(rows: list[dict[str, str]]) -> Sums:
    """Return the same of the rows."""
    events = total = 0
    for row in rows:
        size = _bytes(row["Size(KB)"].strip())
        allocated = _ns(row["Allocation Time(us)"])
        released = _ns(row["Release Time(us)"]) or _ns(row["Active Release Time(us)"])
        events += 1 + (released is not None)
        total += size * (released is None)
        if not allocated or (released is not None and released < allocated):
            raise AssertionError(f"a row without a finding: {row}")
    return events, total


def read_units(raw: Raw) -> Sums:
    """Return what the reader has of the kernels' units."""
    count = duration_ns = 0
    for group in raw.groups.values():
        has_unit = group.text("unit") >= 0
        count += int(has_unit.sum())
        duration_ns += int((group.end_ns - group.start_ns)[has_unit].sum())
    return count, duration_ns


def plain_units(rows: list[dict[str, str]], raw: Raw) -> Sums:
    """Return the same of the rows, by the kernels' names and starts."""
    known: dict[tuple[str, int], str] = {}
    for row in rows:
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


def mutations(rng: random.Random, count: int, folder: Path) -> Counter[str]:
    """Return the number of mutations by outcome."""
    output = (
        ascend.Program(steps=2).folder(folder, forms=("json", "csv")) / "ASCEND_PROFILER_OUTPUT"
    )
    trace = output / "trace_view.json"
    tables = [(output / name, (output / name).read_bytes()) for name in (KERNELS, BLOCKS)]
    changes = (mutated, with_other_digits)
    found: Counter[str] = Counter()
    for i in range(count):
        path, data = tables[i % 2]
        found[outcome(trace, path, changes[i // 2 % 2](data, rng))] += 1
    return found


def main() -> int:
    """Print how many mutations had which outcome."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        print(mutations(random.Random(arguments.seed), arguments.count, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
