"""Find what differs between the inputs of calls that two traces have in common.

The n-th call of a unit in a step stands beside the n-th call of the same unit in the other trace,
and so do the operators of equal name inside.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.comparison.call_places import PlacedWork
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import range_rows
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I32, I64, Bools

Pair = tuple[str, str]
_Sizes = Counter[tuple[bool, int, int]]
"""By whether it is a first dimension, and its size in the base and now."""

_LEAST = 0.05
"""Share of the sizes that differ below which a size may be of some odd call."""


class InputChanges(Struct, frozen=True):
    """By unit, how its inputs differ."""

    types: dict[int, Pair]
    """The data type that differs most often, in the base and now."""
    shapes: set[int]
    size: Pair | None
    """The size that makes most shapes differ, in the base and now; None if there are several."""
    is_batch: bool
    """It is the first dimension of most inputs that have it."""


def input_changes(
    base: Trace, now: Trace, work: tuple[PlacedWork, PlacedWork], steps: tuple[I64, I64]
) -> InputChanges:
    """Return the changes of inputs between the first chosen steps (rows of each trace's steps)."""
    types: dict[int, Pair] = {}
    shapes: set[int] = set()
    sizes: _Sizes = Counter()
    if len(steps[0]) and len(steps[1]):
        for unit, pairs in _series(base, now, work, steps, "dtypes"):
            found = Counter(pair for a, b in pairs for pair in _types(a, b))
            if found:
                types[unit] = found.most_common(1)[0][0]
        for unit, pairs in _series(base, now, work, steps, "shapes"):
            shapes.add(unit)
            for a, b in pairs:
                sizes.update((at == 0, was, size) for at, was, size in _sizes(_read(a), _read(b)))
    size = _common_size(sizes)
    return InputChanges(
        types=types,
        shapes=shapes,
        size=None if size is None else (str(size[0]), str(size[1])),
        is_batch=size is not None
        and 2 * sizes[True, *size] > sizes[True, *size] + sizes[False, *size],
    )


def _series(
    base: Trace,
    now: Trace,
    work: tuple[PlacedWork, PlacedWork],
    steps: tuple[I64, I64],
    column: Literal["dtypes", "shapes"],
) -> Iterator[tuple[int, list[Pair]]]:
    """Yield units in which all inputs of an operator differ, with the texts of these inputs."""
    old = _texts(base, work[0], int(steps[0][0]), column)
    new = _texts(now, work[1], int(steps[1][0]), column)
    found: dict[int, list[Pair]] = defaultdict(list)
    for unit, name in old.keys() & new.keys():
        pairs = list(zip(old[unit, name], new[unit, name], strict=False))
        if all(a != b for a, b in pairs):
            found[unit] += pairs
    yield from sorted(found.items())


def _texts(
    trace: Trace, work: PlacedWork, step: int, column: Literal["dtypes", "shapes"]
) -> dict[tuple[int, str], list[str]]:
    """Return the inputs in a step by unit and operator, of its calls and those inside, in order."""
    ops = trace.ops
    inside = np.flatnonzero((work.unit >= 0) & (work.step == step) & (work.call < len(ops)))
    first, _ = groupby.group_rows(work.call[inside])
    rows = inside[first]
    order = np.argsort(work.order_ns[rows], kind="stable")
    call, unit = work.call[rows[order]], work.unit[rows[order]]
    # Operators are by thread and start, so those inside follow directly.
    count = groupby.with_descendants(ops.parent, np.ones(len(ops), np.int64))[call]
    of_call, at = range_rows(call, count)
    of_unit = unit[of_call]
    strings = getattr(ops, column)
    known = np.flatnonzero(_has_inputs(trace, strings)[at])
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    for row, own in zip(at[known].tolist(), of_unit[known].tolist(), strict=True):
        found[own, trace.text(ops.name[row])].append(trace.text(strings[row]))
    return found


def _has_inputs(trace: Trace, strings: I32) -> Bools:
    """Return by row whether its text names a size or a type."""
    return groupby.named_rows(trace.strings, strings, lambda text: any(map(str.isalnum, text)))


def _types(old: str, new: str) -> Iterator[Pair]:
    for pair in zip(_read(old), _read(new), strict=False):
        if pair[0] != pair[1] and all(isinstance(word, str) and word for word in pair):
            yield pair


def _sizes(old: Any, new: Any) -> Iterator[tuple[int, int, int]]:
    """Yield the place and both sizes of each dimension that differs."""
    for a, b in zip(old, new, strict=False):
        if not (isinstance(a, list) and isinstance(b, list) and len(a) == len(b)):
            continue
        if any(isinstance(size, list) for size in (*a, *b)):
            yield from _sizes(a, b)
            continue
        for at, (before, after) in enumerate(zip(a, b, strict=True)):
            if before != after:
                yield at, before, after


def _read(text: str) -> Any:
    """Return the list that a text holds; empty if it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _common_size(sizes: _Sizes) -> tuple[int, int] | None:
    """Return the smallest size that changes by the factor by which most sizes do.

    Products with it, such as the tokens of a batch, change by the same factor.
    """
    factors: Counter[float] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    for (_, old, new), count in sizes.items():
        factors[new / max(old, 1)] += count
        pairs[old, new] += count
    if not factors:
        return None
    factor, count = factors.most_common(1)[0]
    if 2 * count <= sizes.total():
        return None
    least = _LEAST * sizes.total()
    some = [pair for pair, n in pairs.items() if n >= least and pair[1] / max(pair[0], 1) == factor]
    return min(some, default=None)
