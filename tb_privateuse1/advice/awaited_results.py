"""Copies that wait for results: which of them the program cannot go on without."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.idioms.host_answers import SEVERAL, answers, divided_by
from tb_privateuse1.analysis.idle.launch_times import earliest_launch
from tb_privateuse1.analysis.recording.iterations import has_steps, iterations
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.groupby import distinct_values, group_rows, split_by_value
from tb_privateuse1.trace.model import KERNEL, NONE, Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.trace.work_kinds import COPY_TO_DEVICE, COPY_TO_HOST

_ALIASES = r"^aten::(detach|alias|view|numpy_T|resolve_(conj|neg)|to|item)$"
_FRESH = r"^aten::lift_fresh$"
"""torch wraps data from outside of it: a list of numbers, an array."""
_NAMES = r"^aten::(copy_|_copy_from|_to_copy)$"
NUMBERS = r"^aten::(item|_local_scalar_dense|is_nonzero|equal|allclose)$"
"""Operators that return a number of the device to Python."""
_OTHERS = (
    r"^aten::(item|_local_scalar_dense|is_nonzero|equal|allclose|nonzero|masked_select|_to_cpu)$"
)
_USUAL = 3.0
"""A copy's call may return this many times as late as usual, as ``host_activities`` has it."""
_EQUAL = 3
"""Equal calls that show what is usual: the one that was held up is not the median of three."""
_QUICK = 25
"""Percentile of reads that nothing holds up."""
_SLICE_NS = 700_000
"""Another program that has the processor keeps it this long at least: the least time slice of
Linux, by the sources of its scheduler (0.75 ms of CFS, 0.7 ms of EEVDF)."""
MANY = 0.1
"""Share of the step from which the copies of results on the host are worth a finding without their
line, or where one copy has all results of a step: a tenth is worth a day's work (``engine``)."""


def copies_that_wait(case: RuleContext) -> I64:
    """Return the rows of ``limits.waits`` in copies that no other rule reports.

    Not those whose copy to the device had long been done: the host's thread was held up.
    """
    waits = _copies(case)
    return waits[~_held_up(case, waits)]


def _copies(case: RuleContext) -> I64:
    waits = case.waits_in(case.named("ops", _NAMES))
    is_reported = case.around(case.limits.waits.op[waits], case.named("ops", _OTHERS)) >= 0
    return waits[~is_reported]


def _held_up(case: RuleContext, waits: I64) -> Bools:
    """Return which waits returned far later behind their copy than others do.

    Behind a copy of results the host may still move them to where the program reads them, which
    takes as long as they are large: only equal calls tell what is usual.
    """
    ops = case.trace.ops
    held = np.zeros(len(waits), np.bool_)
    late = _behind_copies(case, waits, COPY_TO_DEVICE)
    known = np.flatnonzero(late != NONE)
    if len(known):
        held[known] = late[known] > _USUAL * np.median(late[known])
    # Steps that are not judged show what is usual, too.
    every = np.arange(len(case.limits.waits))
    late = _behind_copies(case, every, COPY_TO_HOST)
    known = np.flatnonzero(late != NONE)
    op = case.limits.waits.op[known]
    _, alike = group_rows(ops.name[op], ops.shapes[op])
    far = np.zeros(len(every), np.bool_)
    for _, some in split_by_value(alike):
        if len(some) >= _EQUAL:
            far[known[some]] = late[known[some]] > _USUAL * np.median(late[known[some]])
    held |= far[waits]
    return held


def held_reads(case: RuleContext, waits: I64) -> Bools:
    """Return which waits for numbers are mostly time behind the device's end: a thread held up.

    A number takes no time to hand over. A busy machine may hold up most reads, so that the quick
    quarter of them tells what is usual.
    """
    table, held = case.limits.waits, np.zeros(len(waits), np.bool_)
    late = _behind_copies(case, waits, COPY_TO_HOST)
    known = np.flatnonzero(late != NONE)
    if len(known) >= _EQUAL:
        usual = max(_USUAL * np.percentile(late[known], _QUICK), _SLICE_NS)
        length = (table.end_ns - table.start_ns)[waits[known]]
        held[known] = (late[known] > usual) & (2 * late[known] > length)
    return held


def _behind_copies(case: RuleContext, waits: I64, direction: str) -> I64:
    """Return how long each wait went on behind its copies of a direction, ``NONE`` without any."""
    kernels = case.trace.kernels
    moved = case.kernels(direction)
    moved = moved[kernels.op[moved] >= 0]
    done = np.zeros(len(case.trace.ops), np.int64)
    np.maximum.at(done, kernels.op[moved], kernels.end_ns[moved])
    end = lookup(done, case.limits.waits.op[waits], 0)
    return np.where(end > 0, np.maximum(case.limits.waits.end_ns[waits] - end, 0), NONE)


def awaited(case: RuleContext) -> I64:
    """Return the rows of ``limits.waits`` that no change of the program shortens.

    Other code answers the results of copies with new data; or a copy has all results of a step and
    costs little; or the host's thread was held up, in reads of numbers as well.
    """
    reads = case.waits_in(case.named("ops", NUMBERS))
    reads = reads[held_reads(case, reads)]
    return np.union1d(reads, _awaited_copies(case))


def _awaited_copies(case: RuleContext) -> I64:
    waits = copies_that_wait(case)
    items = answered(case, waits)
    rest = waits[items <= 1]
    costs = case.share(intervals.length(case.idle_by_waits(rest)))
    if costs < MANY and are_gathered(case, rest):
        return _copies(case)
    return np.setdiff1d(_copies(case), rest)


def are_gathered(case: RuleContext, waits: I64) -> bool:
    """Return whether all waits are for results, at most one in each of several steps.

    Such results come with one copy already. No argument makes them come earlier: the program must
    read them a step later. A single step does not show that it is so in each.
    """
    steps = _steps(case)
    return steps > 1 and len(waits) <= steps and _are_for_results(case, waits)


def are_read_together(case: RuleContext, waits: I64) -> bool:
    """Return whether all waits are for results, at one place in each of several steps at most.

    No kernel is launched between the reads of one place.
    """
    launched = np.sort(earliest_launch(case.trace)[case.trace.kernels.kind == KERNEL])
    places = distinct_values(np.searchsorted(launched, case.limits.waits.end_ns[waits]))
    steps = _steps(case)
    return steps > 1 and len(places) <= steps and _are_for_results(case, waits)


def _steps(case: RuleContext) -> int:
    """Return the number of judged steps, or of equal parts where none are marked."""
    if not has_steps(case.trace) and (found := iterations(case.trace)) is not None:
        return len(found.start_ns)
    return len(case.steps)


def _are_for_results(case: RuleContext, waits: I64) -> bool:
    """Return whether all waits lie in operators that copy to the host."""
    ops = case.trace.kernels.op[case.kernels(COPY_TO_HOST)]
    to_host = mask_of(ops[ops >= 0], len(case.trace.ops))
    return bool(lookup(to_host, case.limits.waits.op[waits], False).all())


def answered(case: RuleContext, waits: I64) -> I64:
    """Return for each wait the number of items that other code answers its result with, or 0.

    That is the first size of what torch wraps next on the same thread, with only views between; or
    of what the host's own operators make of the result and send; or the number of parts that it
    divides a tensor into. Copies to the device, by their names or of what torch has just wrapped,
    have no answer.
    """
    ops, items = case.trace.ops, np.zeros(len(waits), np.int64)
    top = case.top_in_order
    top = top[~case.named("ops", _ALIASES)[top]]
    op = case.limits.waits.op[waits]
    sent = distinct_values(case.trace.kernels.op[case.kernels(COPY_TO_DEVICE)])
    busy = distinct_values(case.trace.kernels.op)
    known = np.flatnonzero((op >= 0) & ~lookup(mask_of(sent[sent >= 0], len(ops)), op, False))
    if not len(top) or not len(known):
        return items
    fresh = np.append(case.named("ops", _FRESH), False)
    for one in distinct_values(ops.thread[op[known]]).tolist():
        own = np.append(top[ops.thread[top] == one], NONE)
        mine = known[ops.thread[op[known]] == one]
        before = np.searchsorted(ops.start_ns[own[:-1]], ops.start_ns[op[mine]]) - 1
        after = np.searchsorted(ops.start_ns[own[:-1]], ops.end_ns[op[mine]])
        answered = fresh[own[after]] & ~fresh[own[before]]
        rows = own[after[answered]].tolist()
        items[mine[answered]] = [_first_size(case.trace, row) for row in rows]
        rest = mine[items[mine] == 0]
        every = case.top_in_order[ops.thread[case.top_in_order] == one]
        is_sent, is_busy = (_inside(case, every, some) for some in (sent, busy))
        items[rest] = np.maximum(
            answers(case.trace, op[rest], every, is_sent, is_busy),
            divided_by(case.trace, op[rest], every),
        )
    return items


def answered_waits(case: RuleContext) -> I64:
    """Return the waits for results of several items that other code answers with new data."""
    waits = copies_that_wait(case)
    return waits[answered(case, waits) > 1]


def _inside(case: RuleContext, own: I64, some: I64) -> Bools:
    """Return which of these outermost operators have one of some inside of them."""
    count = len(case.trace.ops)
    around = case.around(some[some >= 0], mask_of(own, count))
    return mask_of(around[around >= 0], count)[own]


def _first_size(trace: Trace, row: int) -> int:
    """Return the first size of a call's first tensor; 1 for a number, 0 if it is unknown.

    Without any shapes it is that of several items.
    """
    if not (trace.ops.shapes >= 0).any():
        return SEVERAL
    call = read_call(trace, row)
    tensor = None if call is None else call.optional(0)
    if tensor is None:
        return 0
    return tensor.shape[0] if tensor.shape else 1
