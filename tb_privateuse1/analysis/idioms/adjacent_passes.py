"""Find calls of one module that follow each other directly, with products of equal shapes.

Guidance asks a model twice for each step: with a label and without. If the second call does not
read what the first returns, both fit into one batch.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import containing, lookup, mask_of
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64


class AdjacentPasses(Struct, frozen=True):
    """Calls that follow an equal one directly."""

    calls: int
    module: str
    """The class of the module that is called most."""
    lone: I64
    """The second calls of pairs, rows of ``trace.frames``: no third one is directly beside."""


def adjacent_passes(trace: Trace, products: I64) -> AdjacentPasses | None:
    """Return the calls of modules around products, rows of ``trace.ops``; None without any."""
    frames = trace.frames
    modules = call_tree.is_module(trace)
    products = groupby.distinct_values(products[products >= 0])
    outer = _outermost(trace, modules, products)
    products, outer = products[outer >= 0], outer[outer >= 0]
    if not len(outer):
        return None
    call = groupby.distinct_values(outer)
    call = call[np.lexsort((frames.start_ns[call], frames.thread[call]))]
    first, second = _direct(trace, call)
    if not len(first):
        return None
    asked = np.union1d(first, second)
    inside = lookup(mask_of(asked, len(frames)), outer, False)
    signature = _signatures(trace, products[inside], outer[inside], asked)
    place = np.searchsorted(asked, (first, second))
    equal = signature[place[0]] == signature[place[1]]
    first, follows = first[equal], second[equal]
    lone = follows[~np.isin(first, follows) & ~np.isin(follows, first)]
    if not len(follows):
        return None
    names, count = np.unique(frames.name[follows], return_counts=True)
    title = trace.text(names[count.argmax()]).removeprefix(call_tree.MODULE)
    return AdjacentPasses(len(follows), title.rpartition("_")[0] or title, lone)


def _direct(trace: Trace, call: I64) -> tuple[I64, I64]:
    """Return the neighbors among calls, by thread and start, with nothing between, of one name."""
    frames, ops, steps = trace.frames, trace.ops, trace.steps
    first, second = call[:-1], call[1:]
    same = frames.name[first] == frames.name[second]
    same &= frames.thread[first] == frames.thread[second]
    first, second = first[same], second[same]
    # The profiler's next step, or the next batch, is another call of the program.
    step = containing(steps.host_start_ns, steps.host_end_ns, frames.start_ns[first])
    other = containing(steps.host_start_ns, steps.host_end_ns, frames.start_ns[second])
    first, second = first[step == other], second[step == other]
    main = np.flatnonzero(groupby.outermost_operators(ops))
    between = np.zeros(len(first), np.int64)
    for thread, some in groupby.split_by_value(frames.thread[first]):
        at = np.sort(ops.start_ns[main[ops.thread[main] == thread]])
        between[some] = np.searchsorted(at, frames.start_ns[second[some]]) - np.searchsorted(
            at, frames.end_ns[first[some]]
        )
    return first[between == 0], second[between == 0]


def _outermost(trace: Trace, modules: np.ndarray, products: I64) -> I64:
    """Return the outermost module's frame around each operator, or ``NONE``."""
    parent = trace.frames.parent
    found = np.full(len(products), NONE, np.int64)
    at = call_tree.around(parent, trace.ops.frame[products], modules)
    while (at >= 0).any():
        found = np.where(at >= 0, at, found)
        at = np.where(at >= 0, parent[at], NONE)
        at = call_tree.around(parent, at, modules)
    return found


def _signatures(trace: Trace, products: I64, outer: I64, call: I64) -> I64:
    """Return a number for the products of each call in order: equal ones have equal numbers."""
    ops = trace.ops
    order = np.argsort(ops.start_ns[products], kind="stable")
    _, what = groupby.group_rows(ops.name[products], ops.shapes[products])
    runs: dict[int, list[int]] = {row: [] for row in call.tolist()}
    for row, number in zip(outer[order].tolist(), what[order].tolist(), strict=True):
        runs[row].append(number)
    numbers: dict[tuple[int, ...], int] = {}
    return np.array(
        [numbers.setdefault(tuple(run), len(numbers)) for run in runs.values()], np.int64
    )
