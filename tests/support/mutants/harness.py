"""Read mutants of a recording, and compare their sums with those of a plain program."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.support import valid_trace

SLOWEST_S = 10.0
"""CPU time; no file of some kilobytes takes as long."""

Mutate = Callable[[random.Random], tuple[Path, bytes]]
"""Return the path of a mutant, and its bytes."""


@dataclass(frozen=True)
class Reading:
    """What our reader makes of a mutant, and the codes of all findings about it."""

    raw: Raw
    trace: Trace
    codes: frozenset[str]


def read_file(path: Path) -> Reading:
    """Read a recording that is one file."""
    return with_trace(readers.read(str(path)))


def with_trace(raw: Raw, *more: str) -> Reading:
    """Build the trace of what was read; ``more`` are codes of findings elsewhere."""
    trace = inference.build_trace(raw, None)
    return Reading(raw, trace, frozenset({*more, *(finding.code for finding in raw.findings)}))


@dataclass(frozen=True)
class Format:
    """A format whose mutants are read."""

    make: Callable[[Path], Sequence[Mutate]]
    """Write what is needed into a folder; return the ways to change it, which take turns."""
    sums: Callable[[Reading], Any]
    plain_sums: Callable[[Path, Raw], Any]
    """The same by a plain program; None where it cannot tell what the bytes mean."""
    read: Callable[[Path], Reading] = read_file
    reader: str | None = None
    """The reader whose sums are compared; None for any."""
    losses: frozenset[str] | None = None
    """Findings that explain other sums; None for every finding."""
    unreadable: tuple[type[Exception], ...] = ()
    """What the plain program raises for bytes that it cannot read."""
    refusals: frozenset[str] | None = None
    """The codes with which the reader may refuse a mutant; None for any."""
    least: Mapping[str, float] = field(default_factory=dict)
    """The least share of mutants by outcome: else the changes say little."""
    count: int = 200
    """The number of mutants in the regular test."""


def outcome(format: Format, path: Path, data: bytes) -> str:
    """Read one mutant and return what becomes of it.

    ``same``: sums are those of the plain program. ``partial``: findings say what is wrong.
    ``unchecked``: the plain program cannot read it. ``another``: another reader took it.
    ``refused: CODE``: it is refused.
    """
    path.write_bytes(data)
    started = time.process_time()
    try:
        found = format.read(path)
    except TraceError as error:
        if format.refusals is not None and error.code not in format.refusals:
            raise
        return f"refused: {error.code}"
    finally:
        assert time.process_time() - started < SLOWEST_S
    if format.reader not in (None, found.raw.reader):
        return "another"
    valid_trace.check(found.trace)
    if found.codes and (format.losses is None or found.codes & format.losses):
        return "partial"
    try:
        expected = format.plain_sums(path, found.raw)
    except format.unreadable:
        return "unchecked"
    if expected is None:
        return "unchecked"
    assert format.sums(found) == expected, data
    return "same"


def outcomes(format: Format, rng: random.Random, count: int, folder: Path) -> Counter[str]:
    """Return the number of mutants by outcome."""
    ways = format.make(folder)
    return Counter(outcome(format, *ways[i % len(ways)](rng)) for i in range(count))
