"""Find generation without a key-value cache: each round computes all earlier items again.

Generation without a cache of keys and values, or a recurrent network that starts at the first token
each time.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.fused_kernel_rates import printed_memory
from tb_privateuse1.analysis.idioms.nodes import operators_named
from tb_privateuse1.analysis.idioms.result_tensors import result_of
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import known_call, read_call
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import ends_run, following, starts_run
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I64, Bools, Table, ThreadRow64

ROUNDS, FEWER = 4, 3
"""Rounds in a row that grow by the same number: fewer may be batches of various sizes. A series of
the lesser number counts if it comes again, and grows by a little."""
_LITTLE = 1 / 8
"""The greatest growth of a round in a short series, as a share of its rows: a token, no batch."""
_WIDE = 1.5
"""Rounds whose rows differ by this factor show how long a row takes; others take it as even."""
_DRAWS = ("rand", "randn", "randint", "normal", "normal_", "uniform_", "random_")
"""Reduced names of operators that fill a whole tensor with random numbers."""
_FIRST = {"mm": 0, "addmm": 1, "linear": 0}
"""By product with a weight, the argument whose rows are the tokens."""


class Rounds(Table, frozen=True):
    """Rounds by thread and start: rows of the products, and how many of them are new."""

    thread: ThreadRow64
    start_ns: I64
    end_ns: I64
    rows: I64
    new: I64
    series: I64


class RecomputedPrefixes(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` with the share of the work that an earlier round has done."""

    rounds: Rounds
    rows: I64
    shares: F64


@memoize
def recomputed_prefixes(trace: Trace) -> RecomputedPrefixes:
    """Return the operators of rounds that grow, and the share of each that is done again.

    Work that does not become longer with the rounds is not counted: reading the weights remains.
    Operators of a forward pass with a backward pass need all rows each time. So do rounds whose
    rows are drawn at random: a batch that grows, and no sequence.
    """
    rounds = _rounds(trace)
    rounds = rounds.take(np.flatnonzero(~_drawn(trace, rounds)))
    none = RecomputedPrefixes(rounds, np.empty(0, np.int64), np.empty(0))
    if not len(rounds):
        return none
    rows, cost_ns = _operators(trace)
    at = groupby.containing_by(
        rounds.thread,
        rounds.start_ns,
        rounds.end_ns,
        trace.ops.thread[rows],
        trace.ops.start_ns[rows],
    )
    rows, cost_ns, at = rows[at >= 0], cost_ns[at >= 0], at[at >= 0]
    scaled = _first_sizes(trace, rows) % rounds.rows[at] == 0
    rows, cost_ns, at = rows[scaled], cost_ns[scaled], at[scaled]
    whole = groupby.sums(at, cost_ns, len(rounds))
    read = np.maximum(operator_work(trace).read_bytes[rows], 0) / printed_memory(trace) * 1e9
    read_ns = np.bincount(at, weights=read, minlength=len(rounds))
    old = rounds.rows - rounds.new
    share = np.zeros(len(rounds))
    for _, members in groupby.split_by_value(rounds.series):
        size, cost = rounds.rows[members], np.maximum(whole[members], 1)
        if size[-1] >= _WIDE * size[0]:
            share[members] = _slope(size, cost) * old[members] / cost
        else:
            share[members] = (1 - read_ns[members] / cost) * old[members] / size
    share = np.clip(share, 0, old / rounds.rows)
    keep = share[at] > 0
    return RecomputedPrefixes(rounds, rows[keep], share[at[keep]])


def _drawn(trace: Trace, rounds: Rounds) -> Bools:
    """Return the rounds of each series that draws all rows at random in most of its rounds."""
    found = np.zeros(len(rounds), np.bool_)
    if not len(rounds):
        return found
    ops = trace.ops
    rows = np.flatnonzero(operators_named(trace, *_DRAWS) & (ops.shapes >= 0))
    for thread, members in groupby.split_by_value(rounds.thread):
        own = rows[ops.thread[rows] == thread]
        # What a round reads is drawn ahead of its first product: in the round before, or in it.
        at = np.searchsorted(rounds.end_ns[members], ops.start_ns[own])
        for row, place in zip(own.tolist(), at.tolist(), strict=True):
            call = read_call(trace, row)
            if call is None or not (result := result_of(call, reduced_name(call.name).strip("_"))):
                continue
            near = members[place : place + 2]
            size = math.prod(result.shape[:-1])
            found[near[(rounds.rows[near] == size) | (rounds.rows[near] == result.numel)]] = True
    first, series = groupby.group_rows(rounds.series)
    most: Bools = 2 * groupby.sums(series, found.astype(np.int64), len(first)) > np.bincount(series)
    return most[series]


def _slope(size: I64, cost_ns: I64) -> float:
    """Return the time that each more row takes: between the medians of both halves."""
    half = len(size) // 2
    low, high = np.median(cost_ns[:half]), np.median(cost_ns[-half:])
    return float(high - low) / float(np.median(size[-half:]) - np.median(size[:half]))


def _rounds(trace: Trace) -> Rounds:
    """Return the rounds of each thread, by the weight with most of them."""
    ops = trace.ops
    found = operator_work(trace).matrix & (ops.kind == OPERATOR) & (ops.shapes >= 0)
    forward = call_tree.linked_forward(trace)
    trained = forward >= 0
    trained[forward[forward >= 0]] = True
    products = np.flatnonzero(found)
    products = products[call_tree.around(ops.parent, products, trained) < 0]
    products = products[np.argsort(ops.start_ns[products], kind="stable")]
    first, call = groupby.group_rows(ops.name[products], ops.shapes[products])
    rows, weight = np.zeros((2, len(first)), np.int64)
    weights: dict[tuple[int, ...], int] = {}
    for i, row in enumerate(products[first].tolist()):
        size, other = _rows_of(trace, row)
        rows[i], weight[i] = size, weights.setdefault(other, len(weights))
    rows, weight = rows[call], weight[call]
    products, rows, weight = (column[rows > 0] for column in (products, rows, weight))
    parts = []
    for _, of_thread in groupby.split_by_value(ops.thread[products]):
        series = [
            _series(trace, products[of_thread[members]], rows[of_thread[members]])
            for _, members in groupby.split_by_value(weight[of_thread])
        ]
        parts.append(max(series, key=len))
    if not parts:
        return Rounds.empty()
    numbers = np.concatenate([part.series + 10**6 * i for i, part in enumerate(parts)])
    columns = {name: np.concatenate([getattr(part, name) for part in parts])
               for name in ("thread", "start_ns", "end_ns", "rows", "new")}  # fmt: skip
    return Rounds(**columns, series=numbers)


def _series(trace: Trace, products: I64, rows: I64) -> Rounds:
    """Return rounds of one weight: four or more in a row that grow by the same number of rows."""
    ops = trace.ops
    begins = np.flatnonzero(starts_run(rows))
    size, grown = rows[begins], np.diff(rows[begins])
    same = ~starts_run(grown) & (grown > 0)
    run = np.cumsum(~same) - 1  # runs of equal growth between neighbors
    if not len(run):
        return Rounds.empty()
    count = np.bincount(run)
    first = np.flatnonzero(~same)
    again = (count >= FEWER - 1) & (grown[first] <= _LITTLE * size[first])
    _, alike = groupby.group_rows(np.where(again, grown[first], -1))
    again &= np.bincount(alike, minlength=1)[alike] > 1
    good = ((count >= ROUNDS - 1) | again)[run] & (grown > 0)
    later = np.flatnonzero(good) + 1  # the first round of a run is new as a whole
    ends = np.append(ops.start_ns[products[begins[1:]]], ops.end_ns[products[-1:]])
    last = following(begins, len(rows)) - 1
    # What follows the last round is none: it ends with the last product of that size.
    closes = ends_run(run)
    ends[1:][closes] = ops.end_ns[products[last[1:]]][closes]
    return Rounds(
        thread=ops.thread[products[begins[later]]].astype(np.int64),
        start_ns=ops.start_ns[products[begins[later]]],
        end_ns=ends[later],
        rows=size[later],
        new=grown[later - 1],
        series=run[later - 1],
    )


def _rows_of(trace: Trace, row: int) -> tuple[int, tuple[int, ...]]:
    """Return the rows of a product with a weight, and the weight's shape; 0 if unknown."""
    word = reduced_name(trace.text(trace.ops.name[row]))
    if word not in _FIRST:
        return 0, ()
    try:
        call = known_call(trace, row)
        x, weight = call.tensor(_FIRST[word]), call.tensor(_FIRST[word] + 1)
    except UnknownWork:
        return 0, ()
    return (x.numel // x.shape[-1] if x.numel else 0), weight.shape


def _operators(trace: Trace) -> tuple[I64, I64]:
    """Return the operators that work themselves, and their time: on the device if there is one."""
    ops, kernels = trace.ops, trace.kernels
    if not len(kernels):
        rows = np.flatnonzero(groupby.outermost_operators(ops) & (ops.shapes >= 0))
        return rows, ops.end_ns[rows] - ops.start_ns[rows]
    cost = groupby.sums(kernels.op, kernels.end_ns - kernels.start_ns, len(ops))
    rows = np.flatnonzero((cost > 0) & (ops.shapes >= 0))
    return rows, cost[rows]


def _first_sizes(trace: Trace, rows: I64) -> I64:
    """Return the elements of the largest tensor of each operator; 1 without any."""
    ops = trace.ops
    first, call = groupby.group_rows(ops.shapes[rows], ops.dtypes[rows], ops.name[rows])
    sizes = np.ones(len(first), np.int64)
    for i, row in enumerate(rows[first].tolist()):
        if (call_read := read_call(trace, row)) is not None:
            x = next((one for one in call_read.tensors() if len(one.shape) > 1), None)
            sizes[i] = x.numel if x is not None and x.numel else 1
    sized: I64 = sizes[call]
    return sized
