"""A Python loop that indexes a tensor element by element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.batched_rounds import saved
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES, ONE_PLACE
from tb_privateuse1.analysis.idioms.array_calls import array_loops
from tb_privateuse1.analysis.idioms.batched_cost import Ranges, gradients_of, pace_ns
from tb_privateuse1.analysis.idioms.independent_rounds import (
    ROUNDS,
    IndependentRounds,
    first_indices,
    independent_rounds,
)
from tb_privateuse1.analysis.idioms.single_numbers import LEAST, NumberRuns, in_torch, number_runs
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import call_title
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import following, mask_of, previous, starts_run
from tb_privateuse1.trace.groupby import group_rows, split_by_value
from tb_privateuse1.trace.table import I64, Bools

_NAMES = r"^aten::(select|slice|narrow)$"
_LOADER = r"^enumerate\(DataLoader\)"
_MANY, _NEAR = 20, 8
"""Calls in a row without recorded places: loops over layers or heads are shorter. Operators from
one to the next: the work on one item."""


class _Found(Struct, frozen=True):
    """Loops, with the number of rounds of each, and the operators that show them."""

    ranges: Ranges
    rounds: I64
    rows: I64
    events: int


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield loops over items of tensors, runs of indices and of numbers, and loops of NumPy."""
    top = case.top_in_order
    # A data loader indexes samples: other rules report its time.
    top = top[case.around(top, case.named("ops", _LOADER)) < 0]
    items = independent_rounds(case.trace, top)
    # The body of torch's own functions is not the program's to change.
    items = items.take(~in_torch(case.trace, items.place.astype(np.int64), items.end_ns))
    numbers = number_runs(case.trace, top)
    known = items.take(items.independent)
    numbers = numbers.take(_beside(known, numbers))
    yield from _on_items(case, _found(case, top, items, numbers))
    yield from _on_numbers(case, top, numbers)
    yield from _on_arrays(case)


def _on_items(case: RuleContext, found: _Found) -> Iterator[RuleFinding]:
    """Yield the loops over the items of tensors."""
    if not len(found.ranges):
        return
    ranges = found.ranges
    claim, removes = saved(case, ranges, found.rounds)
    if claim is not None and case.share(intervals.length(claim)) < ONE_PLACE:
        return
    # Without shapes a state that is carried from round to round looks like this, too.
    unknown = "shapes" not in case.has
    claim = None if unknown else claim
    looping = intervals.union(ranges.start_ns, ranges.end_ns)
    stays = case.is_host and 2 * intervals.length(claim or looping) < intervals.length(looping)
    cost = (
        ""
        if claim is None
        else say(": {share} of the time", share=percent(case.share(intervals.length(claim))))
    )
    yield RuleFinding(
        title=say("A loop over the elements of a tensor{cost}", cost=cost),
        explanation=join_sentences(_sentences(ranges, found, unknown=unknown, stays=stays)),
        events=found.events,
        evidence=case.examples("ops", found.rows),
        how=say(
            "From the first to the last index of each loop, while the device had nothing to "
            "do, less one of the rounds; and the device's time beyond one operator for each kind "
            "of call, while others waited for it. The gradients of a loop count as the loop does."
        ),
        claim=claim,
        removes=None if unknown else removes,
        least=0.0 if stays else 1.0,
        confidence="low" if stays else "medium",
        source=case.source(found.rows),
        lacks=case.lacks("device", "stacks", "shapes"),
    )


def _sentences(ranges: Ranges, found: _Found, *, unknown: bool, stays: bool) -> Iterator[str]:
    yield say(
        "{loops:,} loops indexed a tensor {rounds:,} times each, one element after the other, with "
        "operators for each of them.",
        loops=len(ranges),
        rounds=int(found.rounds.mean()),
    )
    if unknown:
        yield say("Whether a round needs the one before shows with record_shapes=True only.")
    if stays:
        yield say(
            "Most of their time is work that remains, and parts may be wanted: what one operator "
            "writes for all of them may not fit the processor's cache."
        )


def _on_numbers(case: RuleContext, top: I64, numbers: NumberRuns) -> Iterator[RuleFinding]:
    """Yield runs of operators on single numbers."""
    if not len(numbers):
        return
    ranges, rounds = numbers.ranges(), numbers.calls / numbers.kinds
    behind, of = gradients_of(case.trace, top, ranges)
    ranges, kept = _in_order(ranges, behind)
    claim, removes = saved(case, ranges, np.concatenate((rounds, rounds[of]))[kept])
    if claim is None or case.share(intervals.length(claim)) < ONE_PLACE:
        return
    taped = bool(numbers.recorded.any())
    yield RuleFinding(
        title=say(
            "Operators on single numbers: {each:,.0f} {per_step}, {share} of the time",
            each=int(numbers.calls.sum()) / max(len(case.steps), 1),
            per_step=case.per_step,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{runs:,} runs of {calls:,} operators each compute with one number at a time. An "
            "operator takes some microseconds for one number, and about as long for hundreds. A "
            "number of Python takes a twentieth of that.",
            runs=len(numbers),
            calls=int(numbers.calls.mean()),
        ),
        events=int(numbers.calls.sum()),
        evidence=case.examples("ops", numbers.first.astype(np.int64)),
        how=say(
            "From the first to the last of these operators in a row, while the device had nothing "
            "to do, and the device's time, less one call of each kind."
        ),
        claim=claim,
        removes=removes,
        # What other code gives, one number after the other, may have to be one.
        confidence="low" if taped or numbers.given.any() else "medium",
        source=case.source(numbers.first.astype(np.int64)),
        lacks=case.lacks("device", "stacks"),
        fix=_OF_NUMBERS_WITH_GRADIENTS if taped else _OF_NUMBERS,
        code=_VECTORS,
    )


def _on_arrays(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the loops that call NumPy, by function."""
    trace, found = case.trace, array_loops(case.trace)
    pace = pace_ns(trace) if len(found) else 0.0
    called = trace.frames.name[found.caller]
    for name, some in split_by_value(called):
        loops = found.take(some)
        most = np.minimum(loops.calls * pace / (loops.end_ns - loops.start_ns), 1)
        looping = intervals.union(loops.start_ns, loops.end_ns)
        spent = device_bound.shorten(looping, most * (1 - loops.kinds / loops.calls))
        claim = case.of_host(spent)
        if claim is None or case.share(intervals.length(claim)) < MANY_PLACES:
            continue
        rows = loops.caller.astype(np.int64)
        yield RuleFinding(
            title=say(
                "NumPy is called for one item after the other: {share} of the time",
                share=percent(case.share(intervals.length(claim))),
            ),
            explanation=say(
                "{name} calls NumPy {calls:,} times in a loop. A call takes some microseconds for "
                "a few numbers, and about as long for hundreds.",
                name=call_title(trace, trace.text(name)),
                calls=int(loops.calls.mean()),
            ),
            events=int(loops.calls.sum()),
            evidence=case.examples("frames", rows),
            how=say(
                "From the first to the last call of each loop, while the device had nothing to do, "
                "less one of the rounds; no more than such calls take at the pace of the shortest "
                "quarter of torch's operators."
            ),
            claim=claim,
            removes=case.without(instants=spent),
            # Whether a round needs the one before is not recorded.
            confidence="low",
            source=user_functions.of_frame(trace, int(rows[0])),
            fix=_OF_ARRAYS,
            code=_ARRAYS,
        )


def _beside(ranges: IndependentRounds | NumberRuns, others: Ranges | NumberRuns) -> Bools:
    """Return which of some ranges share no time with others."""
    taken = intervals.union(ranges.start_ns, ranges.end_ns)
    apart: Bools = intervals.covered_length(taken, others.start_ns, others.end_ns) == 0
    return apart


def _found(case: RuleContext, top: I64, items: IndependentRounds, numbers: NumberRuns) -> _Found:
    """Return the loops of both kinds; a range that several loops share counts once."""
    runs = _runs(case, top, np.flatnonzero(case.named("ops", _NAMES)[top]))
    beside = _beside(items, runs.ranges) & _beside(numbers, runs.ranges)
    items = items.take(items.independent)
    others = runs.ranges.take(beside)
    loops = Ranges(items.thread, items.start_ns, items.end_ns, np.ones(len(items), np.bool_))
    apart = _apart(loops)
    behind, of = gradients_of(case.trace, top, loops.take(apart))
    rounds = np.concatenate((items.rounds, runs.rounds[beside], items.rounds[apart[of]]))
    ranges, kept = _in_order(loops, others, behind)
    rows = np.union1d(items.place, runs.rows)
    events = len(runs.rows) if len(others) else int(items.rounds.sum())
    return _Found(ranges, rounds[kept], rows, events)


def _in_order(*parts: Ranges) -> tuple[Ranges, I64]:
    """Return ranges by thread and start without those that begin in others, and which they are."""
    whole = Ranges(
        **{
            name: np.concatenate([getattr(one, name) for one in parts])
            for name, _ in parts[0].columns()
        }
    )
    order = np.lexsort((whole.start_ns, whole.thread))
    order = order[_apart(whole.take(order))]
    return whole.take(order), order


def _apart(ranges: Ranges) -> I64:
    """Return the ranges that begin behind all earlier ones of their thread."""
    reach = intervals.running_max(ranges.end_ns, ranges.thread.astype(np.int64))
    begins = starts_run(ranges.thread) | (ranges.start_ns >= previous(reach, 0))
    return np.flatnonzero(begins)


def _runs(case: RuleContext, top: I64, at: I64) -> _Found:
    """Return runs of 20 or more indices of equal shapes, close together.

    Where the places are recorded, as many of them differ: layers that each take the same halves of
    a tensor are no loop over it. ``at`` are the indices among ``top``.
    """
    ops = case.trace.ops
    # A loop may index several tensors in turn, so each shape is a separate series.
    at = at[np.lexsort((at, ops.shapes[top[at]]))]
    rows = top[at]
    new = starts_run(ops.thread[rows], ops.step[rows], ops.shapes[rows])
    new |= np.diff(at, prepend=0) > _NEAR
    run = np.cumsum(new) - 1
    first, count = np.flatnonzero(new), np.bincount(run)
    last = following(first, len(rows)) - 1
    long = (count >= _MANY) & _take_many_places(case, rows, run, len(first))
    first, last = rows[first[long]], rows[last[: len(count)][long]]
    return _Found(
        Ranges(
            thread=ops.thread[first],
            start_ns=ops.start_ns[first],
            end_ns=ops.end_ns[last],
            independent=np.zeros(len(first), np.bool_),
        ),
        count[long],
        rows[long[run]],
        int(count[long].sum()),
    )


def _take_many_places(case: RuleContext, rows: I64, run: I64, runs: int) -> Bools:
    """Return which runs take many different places; also those with places that are unknown."""
    index, known = first_indices(case.trace, rows)
    once, _ = group_rows(run, index)
    unknown = mask_of(run[~known], runs)
    return unknown | (np.bincount(run[once], minlength=runs) >= _MANY)


_OF_NUMBERS = say(
    "Compute for all elements at once: a loop over what depends on each other, such as time, with "
    "vectors of all that does not. Where every number needs the one before, take Python's numbers: "
    "x.tolist() once, and torch.tensor of the results once."
)
_OF_NUMBERS_WITH_GRADIENTS = say(
    "Compute for all elements at once: a loop over what depends on each other, such as time, with "
    "vectors of all that does not. Where every number needs the one before, compile the function "
    "(torch.compile): gradients need tensors."
)
_OF_ARRAYS = say(
    "If no round needs the one before, compute for all items at once, with whole arrays or "
    "tensors: comparisons of all pairs, random numbers for all of them. Else compile the loop "
    "(numba), or run it ahead of time in a worker of the data loader."
)
_ARRAYS = Code(
    before="for label in labels:\n    drawn.append(rng.choice(np.where(labels == label)[0]))",
    after=(
        "same = labels[:, None] == labels\n"
        "drawn = np.where(same, rng.random(same.shape), -1).argmax(1)"
    ),
)
_VECTORS = Code(
    before=(
        "for i in range(x.shape[1]):\n    for t in range(len(x)):\n"
        "        last = last * decay + x[t, i]\n        y[t, i] = last"
    ),
    after="for t in range(len(x)):\n    last = last * decay + x[t]\n    y[t] = last",
)


RULE = Rule(
    name="indexing_loop",
    title=say("Loop over elements"),
    cause="launching",
    looks_for=say(
        "{rounds} or more equal rounds of operators, each on the next item of a tensor, that "
        "cannot need each other by the sizes of what they read and write; or {many} or more "
        "aten::select, slice or narrow of equal shapes in a row, at most seven operators "
        "apart; or {numbers} or more operators on single numbers with mere views between them, "
        "outside of torch's own functions; or {numbers} or more calls of NumPy in one call of a "
        "function of the program, each of them {rounds} times on average, with no operator "
        "between.",
        many=_MANY,
        numbers=LEAST,
        rounds=ROUNDS,
    ),
    why=say(
        "Each round launches small work for what one operator does for all elements. It costs the "
        "host its launches, and the device a start-up for each."
    ),
    fix=say(
        "Work on the whole tensor: broadcasting, torch.stack once, vmap, scatter and gather. Give "
        "a model all items as one batch: then it reads its weights once."
    ),
    threshold=say(
        "{rounds} rounds and {least} of the step; without recorded indices {many} rounds: a loop "
        "over layers or heads is shorter.",
        least=exact_percent(ONE_PLACE),
        many=_MANY,
        rounds=ROUNDS,
    ),
    reference=say("torch's ForLoopIndexingPattern (10 in a row)."),
    code=Code(
        before=("for i in range(len(x)):\n    y[i] = x[i] * scale[i]"),
        after="y = x * scale[:, None]",
    ),
    check=check,
    needs=("operators",),
    sees_work=True,
)
