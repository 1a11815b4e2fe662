"""Find gradients that no optimizer reads before they are reset, and the work that computes them.

A parameter is known by its shape alone, so all here are bounds. Of several parameters of a shape,
those that are reset as others of the same step count as the optimizer's. Without a difference, its
own are the last ones of the backward pass, behind which nothing else is needed.

Without shapes those are known that a pass adds to older ones, while its others are new since the
optimizer's step; and how many are more than the optimizers step with. They count as the last ones
of the pass, as of a body that a trained head is on.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.accumulations import (
    READING,
    Accumulations,
    Shape,
    accumulations,
    behind_passes,
    beyond_steps,
    left_over,
    written_shapes,
)
from tb_privateuse1.analysis.idioms.result_tensors import result_of, writes_first
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.steps.training_phases import STEPPING, phase_kinds
from tb_privateuse1.analysis.work.arguments import ITEM_BYTES, typed_shapes
from tb_privateuse1.analysis.work.calls import group_calls, read_call
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import (
    following,
    latest_not_after,
    mask_of,
    range_rows,
    sums_before,
)
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_UPDATES = ("_foreach_", "_fused_")


class Unread(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops``."""

    accumulated: I64
    """Where the gradients are added to their parameters."""
    work: I64
    """What computes nothing else: nodes of autograd, and products within others."""


@memoize
def unread_gradients(trace: Trace) -> Unread:
    """Return gradients that nobody reads, and the work that computes nothing else.

    Behind the last gradient of a pass that is read, all nodes go; before it, the products whose
    result is the gradient of a weight. Nothing is known without shapes, without a recorded
    optimizer, or if one writes shapes that no gradient has: shards and flat buffers.
    """
    none, found = np.empty(0, np.int64), accumulations(trace)
    steps = _steps(trace, found)
    if len(found.op) and not found.shapes:
        lost = left_over(trace) | beyond_steps(trace)
        return Unread(found.op[lost], _work_of(trace, found, lost) if lost.any() else none)
    if not len(found.op) or steps is None or (found.shape < 0).any():
        return Unread(none, none)
    first, pair = groupby.group_rows(found.shape, found.backward)
    count = np.bincount(pair)
    unread = _unread_counts(trace, found, steps, first, pair)
    if not unread.any():
        return Unread(none, none)
    # Of a pass and a shape nobody reads those of others, and then the first ones.
    order = np.lexsort((np.arange(len(pair)), ~_of_others(found, steps, first, pair), pair))
    begin = sums_before(count)
    rank = np.empty(len(pair), np.int64)
    rank[order] = np.arange(len(pair)) - begin[pair[order]]
    lost = rank < unread[pair]
    return Unread(found.op[lost], _work_of(trace, found, lost))


def _of_others(found: Accumulations, steps: _Steps, first: I64, pair: I64) -> Bools:
    """Return which gradients are of other parameters than those of the one step behind their pass.

    An optimizer resets its gradients together. If the pass makes all that the step surely reads, it
    adds to those of another network, which nobody has reset since their own step; or the reverse.
    """
    begin = found.passes.backward_ns
    until = following(begin, groupby.LAST)
    stepped = steps.between(
        found.shape[first], *(one[found.backward[first]] for one in (begin, until))
    )
    sure = (stepped >= np.bincount(pair))[pair]
    fresh, added = (
        mask_of(found.backward[sure & kind], len(begin))
        for kind in (found.is_fresh, ~found.is_fresh)
    )
    times = np.searchsorted(np.unique(steps.start_ns), np.stack((begin, until)))
    alike = (fresh != added) & (times[1] - times[0] == 1)
    others: Bools = alike[found.backward] & (fresh[found.backward] != found.is_fresh)
    return others


class _Steps(Struct, frozen=True, eq=False):
    """Parameters that optimizers step with: time, shape, and how many of the shape."""

    start_ns: I64
    shape: I64
    count: I64

    def between(self, shape: I64, after_ns: I64, until_ns: I64) -> I64:
        """Return how many parameters of each shape are stepped with in each range of time."""
        order = np.lexsort((self.start_ns, self.shape))
        total = sums_before(self.count[order])
        times, place = np.unique(
            np.concatenate((self.start_ns, after_ns, until_ns)), return_inverse=True
        )
        own, after, until = np.split(place, np.cumsum((len(self.start_ns), len(after_ns))))
        key = self.shape[order] * len(times) + own[order]
        low, high = (np.searchsorted(key, shape * len(times) + at) for at in (after, until))
        counted: I64 = total[high] - total[low]
        return counted


def _steps(trace: Trace, found: Accumulations) -> _Steps | None:
    """Return what optimizers step with; None without any, or if one writes other shapes."""
    ops = trace.ops
    stepping = phase_kinds(trace) == STEPPING
    if not stepping.any() or not len(found.op):
        return None
    around = intervals.nearest(ops.parent, stepping)
    inside = np.flatnonzero((around >= 0) & (ops.kind == OPERATOR))
    numbers = {shape: i for i, shape in enumerate(found.shapes)}
    first, call = group_calls(trace, inside, ("name", "shapes", "dtypes"))
    rows: list[tuple[int, int, int]] = []
    for i, row in enumerate(inside[first].tolist()):
        if not _updates(trace.text(ops.name[row])):
            continue
        shapes = written_shapes(trace, row)
        if not all(shape in numbers for shape in shapes):
            return None
        rows += [(i, numbers[shape], shapes.count(shape)) for shape in dict.fromkeys(shapes)]
    if not rows:
        return None
    of_call, shape, count = np.array(rows, np.int64).T
    order = np.argsort(call, kind="stable")
    edges = np.searchsorted(call[order], np.arange(len(first) + 1))
    of_row, place = range_rows(edges[of_call], edges[of_call + 1] - edges[of_call])
    member = inside[order[place]]
    start_ns = ops.start_ns[around[member]]
    return _most_by_step(start_ns, ops.name[member], shape[of_row], count[of_row])


def _most_by_step(start_ns: I64, name: I32, shape: I64, count: I64) -> _Steps:
    """Return the parameters of each step: the most that one kind of operator has of a shape."""
    first, group = groupby.group_rows(start_ns, shape, name)
    total = groupby.sums(group, count, len(first))
    step_first, step = groupby.group_rows(start_ns[first], shape[first])
    most = groupby.maxima(step, total, len(step_first))
    rows = first[step_first]
    return _Steps(start_ns[rows], shape[rows], most)


def _updates(name: str) -> bool:
    word = name.rpartition("::")[2].partition(".")[0]
    return word.endswith("_") or word.startswith(_UPDATES)


def _unread_counts(trace: Trace, found: Accumulations, steps: _Steps, first: I64, pair: I64) -> I64:
    """Return how many gradients of each pair of shape and pass are surely read by nobody."""
    shape, backward = found.shape[first], found.backward[first]
    begin = found.passes.backward_ns
    count = np.bincount(pair)
    fresh = np.ones(len(first), np.bool_)
    fresh[pair[~found.is_fresh]] = False
    never = np.isin(shape, steps.shape, invert=True)
    # The next pass with a gradient of the same shape tells whether this one was reset.
    order = np.lexsort((backward, shape))
    later = np.full(len(first), -1, np.int64)
    same = shape[order[1:]] == shape[order[:-1]]
    later[order[:-1][same]] = order[1:][same]
    ends = later >= 0
    until = np.where(ends, begin[backward[later]], np.iinfo(np.int64).max)
    rest = np.maximum(count - steps.between(shape, begin[backward], until), 0)
    known = ends & (fresh[later] | never)
    unread = np.where(known, rest, 0)
    if unread.any():
        unread[_read_by_user(trace, found, shape, backward)] = 0
    # The last pass of a recording is as others with the same gradients.
    kinds = _kinds_of_passes(found)
    _, kind = groupby.group_rows(kinds[backward], shape)
    least = groupby.minima(kind[ends], unread[ends], int(kind.max(initial=-1)) + 1)[kind]
    inherited = np.where(least == groupby.LAST, 0, least)
    return np.where(ends, unread, np.minimum(inherited, count))


def _kinds_of_passes(found: Accumulations) -> I64:
    """Return a number per pass: passes with the same gradients have the same."""
    kinds: dict[bytes, int] = {}
    edges = np.searchsorted(found.backward, np.arange(len(found.passes.backward_ns) + 1))
    parts = np.split(found.shape, edges[1:-1])
    return np.array(
        [kinds.setdefault(np.sort(part).tobytes(), len(kinds)) for part in parts], np.int64
    )


def _read_by_user(trace: Trace, found: Accumulations, shape: I64, backward: I64) -> Bools:
    """Return which pairs have a tensor of their shape read behind the pass, by no optimizer.

    It may be the gradient: an adversarial example, a norm for a log, an update outside
    of the optimizer.
    """
    ops = trace.ops
    rows, at = behind_passes(trace, found.passes)
    rows, at = rows[ops.shapes[rows] >= 0], at[ops.shapes[rows] >= 0]
    numbers = {one: i for i, one in enumerate(found.shapes)}
    first, call = groupby.group_rows(
        ops.name[rows], ops.shapes[rows], ops.dtypes[rows], ops.concrete[rows]
    )
    read = np.zeros((len(first), len(numbers)), np.int64)
    made = np.full(len(first), -1, np.int64)
    for i, row in enumerate(rows[first].tolist()):
        for one in _shapes_read(trace, row):
            read[i, numbers.get(one, 0)] += one in numbers
        made[i] = numbers.get(_shape_made(trace, row), -1)
    op, number = np.nonzero(read[call])
    fresh = _made_before(at, made[call], ops.start_ns[rows], op, number)
    old = read[call[op], number] > fresh
    by_pass = np.zeros((len(found.passes.end_ns), len(numbers)), np.bool_)
    by_pass[at[op[old]], number[old]] = True
    flags: Bools = by_pass[backward, shape]
    return flags


def _made_before(at: I64, made: I64, start_ns: I64, op: I64, number: I64) -> I64:
    """Return how many tensors of a shape were made since the pass, for each operator and shape.

    Those that are made behind the pass are no gradients of it: the latest ones are read.
    """
    order = np.argsort(start_ns, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    span = len(order) + 1
    width = int(max(made.max(initial=0), number.max(initial=0))) + 1
    makes = np.flatnonzero(made >= 0)
    key = np.sort((at[makes] * width + made[makes]) * span + rank[makes])
    group = (at[op] * width + number) * span
    found: I64 = np.searchsorted(key, group + rank[op]) - np.searchsorted(key, group)
    return found


def _shape_made(trace: Trace, row: int) -> Shape:
    """Return the shape of an operator's new result; empty if it is not known."""
    call = read_call(trace, row)
    if call is None or writes_first(call):
        return ()
    made = result_of(call, reduced_name(call.name).strip("_"))
    return made.shape if made is not None else ()


def _shapes_read(trace: Trace, row: int) -> list[Shape]:
    """Return the shapes of tensors that an operator reads, unless it resets or looks at them."""
    name = trace.text(trace.ops.name[row])
    if kind_of(name, trace.vendor) not in READING or "zero_" in name:
        return []
    columns = (trace.text(column[row]) for column in (trace.ops.shapes, trace.ops.dtypes))
    single = [one for one, _ in typed_shapes(*columns)]
    return single + [one for one in written_shapes(trace, row) if one not in single]


def _work_of(trace: Trace, found: Accumulations, lost: Bools) -> I64:
    """Return the nodes behind the last gradient of each pass that is read, and products before."""
    ops, passes = trace.ops, found.passes
    read_ns = np.full(len(passes.backward_ns), np.iinfo(np.int64).max, np.int64)
    read = np.flatnonzero(~lost)
    read_ns[found.backward[read]] = np.iinfo(np.int64).min
    np.maximum.at(read_ns, found.backward[read], ops.end_ns[found.op[read]])
    has_lost = mask_of(found.backward[lost], len(read_ns))
    at = latest_not_after(passes.backward_ns, ops.start_ns[found.engine])
    behind = (at >= 0) & has_lost[at] & (ops.start_ns[found.engine] >= read_ns[at])
    if not found.shapes:
        return found.engine[behind]
    return np.union1d(found.engine[behind], _weight_products(trace, found, lost, behind))


def _weight_products(trace: Trace, found: Accumulations, lost: Bools, behind: Bools) -> I64:
    """Return the products whose result is a lost gradient: the last of its size before it."""
    ops, work = trace.ops, operator_work(trace)
    inside = mask_of(found.engine[~behind], len(ops))
    products = np.flatnonzero(work.matrix & (work.written_bytes > 0))
    products = products[intervals.nearest(ops.parent, inside)[products] >= 0]
    item = np.array([max(size, 1) for size in ITEM_BYTES.values()], np.int64)
    elements = work.written_bytes[products] // item[work.dtype[products]]
    sizes = np.array([math.prod(shape) for shape in found.shapes], np.int64)
    rows = np.concatenate((products, found.op))
    size = np.concatenate((elements, sizes[found.shape]))
    wanted = np.concatenate((np.zeros(len(products), np.bool_), lost))
    backward = np.searchsorted(found.passes.backward_ns, ops.start_ns[rows], side="right")
    order = np.lexsort((ops.start_ns[rows], size, backward))
    before = order[:-1]
    reads = wanted[order[1:]] & (before < len(products))
    reads &= (size[before] == size[order[1:]]) & (backward[before] == backward[order[1:]])
    chosen: I64 = rows[before[reads]]
    return chosen
