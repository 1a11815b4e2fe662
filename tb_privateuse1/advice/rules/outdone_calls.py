"""Calls that take longer than a larger call of the same operator does in this recording."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, Removed, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.roofs.outdone_calls import (
    FACTORS,
    LEAST_CALLS,
    MOST_FACTOR,
    MOST_PRIME,
    MULTIPLE,
    OutdoneCalls,
    SlowLength,
    outdone_calls,
    slow_lengths,
)
from tb_privateuse1.i18n import Text, join_list, plural, say
from tb_privateuse1.i18n.units import shorten, with_unit
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.device_times import is_on_host_alone

_LONGEST = 120
"""Characters of shapes in a sentence."""
_LEAST_LESS, _MOST_LESS = 0.82, 1.22
"""The least and the most that a better length was measured to save, by what is expected: 62 and
92 % of a transform's time, and 75 %."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the calls that surely do the same as a larger one, those that may, and slow lengths."""
    table, rows = outdone_calls(case.trace, case.judged)
    for is_sure in (True, False):
        chosen = rows.take(table.is_sure[rows.call] == is_sure)
        gone = remove(case, Needless(chosen.op, chosen.share))
        if case.share(intervals.length(gone.claim)) >= MANY_PLACES:
            yield _finding(case, table, int(chosen.call.min()), gone)
    for one in slow_lengths(case.trace, case.judged):
        gone = remove(case, Needless(one.rows, np.full(len(one.rows), one.share)))
        if case.share(intervals.length(gone.claim)) >= MANY_PLACES:
            yield _of_length(case, one, gone)


def _finding(
    case: RuleContext,
    table: OutdoneCalls,
    worst: int,
    gone: Removed,
) -> RuleFinding:
    is_sure = bool(table.is_sure[worst])
    return RuleFinding(
        title=say(
            "Calls take longer than larger ones of the same operator: {share} of the time", share=""
        ),
        explanation=_compared(case, table, worst),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say(
            "The time of the fastest of them beyond the median of the larger call, whose inputs "
            "contain theirs. A pass over their bytes as slow as any here is not the reason."
        )
        if is_sure
        else say(
            "The time of the fastest of them beyond the median of the call with no smaller inputs. "
            "It is less if values decide what the operator does, or if the inputs cannot come in "
            "this order."
        ),
        claim=gone.claim,
        removes=gone.removes,
        may_vanish=not is_sure,
        confidence="medium" if is_sure else "low",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


def _of_length(case: RuleContext, slow: SlowLength, gone: Removed) -> RuleFinding:
    """Return the finding on a transform's length; where it may be needed, it promises nothing.

    No device was there to measure: only a processor's library is known to gain.
    """
    is_sure = slow.is_convolution and is_on_host_alone(case.trace)
    return RuleFinding(
        title=say(
            "Fourier transforms of {length:,} points, a slow length: {share} of the time",
            length=slow.length,
            share="",
        ),
        explanation=say(
            "{transforms} of {length:,} points pad their inputs to this length. It has a prime "
            "factor above {most}, for which libraries take a detour of several transforms.{doubt}",
            transforms=plural(len(gone.rows), "transform"),
            length=slow.length,
            most=MOST_PRIME,
            doubt="" if slow.is_convolution else _FREQUENCIES,
        ),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say(
            "Three quarters of their time: Bluestein's algorithm takes two transforms of twice the "
            "points at least. A processor took 2.6 to 12 times as long as for such a length."
        ),
        claim=gone.claim,
        removes=gone.removes,
        least=_LEAST_LESS,
        most=_MOST_LESS,
        may_vanish=not is_sure,
        confidence="medium" if is_sure else "low",
        fix=say(
            "Transform {better:,} points instead, a multiple of {multiple} with no prime factors "
            "but {factors}, forward and back, and cut the result as before.",
            better=slow.better,
            multiple=MULTIPLE,
            factors=join_list([str(one) for one in FACTORS]),
        ),
        code=Code(
            before="y = torch.fft.irfft(torch.fft.rfft(x, 6211) * h, 6211)  # a prime",
            after="y = torch.fft.irfft(torch.fft.rfft(x, 6272) * h, 6272)  # 2**7 * 7**2",
        ),
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


_FREQUENCIES = say(
    " A longer one has other frequencies, closer to each other: it fits if the program only "
    "multiplies the spectra and transforms back."
)


def _compared(case: RuleContext, table: OutdoneCalls, one: int) -> Text:
    trace, row, peer = case.trace, int(table.op[one]), int(table.peer[one])
    values = {
        "name": trace.text(trace.ops.name[row]),
        "own": _described(case, row, peer),
        "time": with_unit("_ns", int(table.least_ns[one])),
        "other": _described(case, peer, row),
        "peer": with_unit("_ns", int(table.peer_ns[one])),
    }
    return say(
        "{name} takes {time} for {own}, and only {peer} for {other}, which is no less work.",
        **values,
    )


def _described(case: RuleContext, row: int, other: int) -> str:
    """Return the shapes of a call, with what else differs from another one: strides or values."""
    ops, text = case.trace.ops, case.trace.text
    shapes = shorten(text(ops.shapes[row]), _LONGEST)
    if ops.strides[row] != ops.strides[other] and ops.shapes[row] == ops.shapes[other]:
        strides = shorten(text(ops.strides[row]), _LONGEST)
        return say("{shapes} with strides {strides}", shapes=shapes, strides=strides)
    if ops.concrete[row] != ops.concrete[other]:
        given = shorten(text(ops.concrete[row]), _LONGEST)
        return say("{shapes} with the arguments {given}", shapes=shapes, given=given)
    return shapes


RULE = Rule(
    name="outdone_calls",
    title=say("Calls slower than larger ones of the same operator"),
    cause="device",
    looks_for=say(
        "Products, convolutions, passes over tensors and operators of one's own, {calls} calls and "
        "more of 50 µs, that take {factor} times as long as calls whose inputs contain theirs. "
        "Fourier transforms of inputs that are padded to a length with a prime factor above "
        "{prime}.",
        calls=LEAST_CALLS,
        factor=MOST_FACTOR,
        prime=MOST_PRIME,
    ),
    why=say(
        "Libraries have a slow way for some sizes, groups and layouts, and a fast one for others."
    ),
    fix=say(
        "Bring the slow call to the form of the fast one: sizes padded with zeros, fewer groups of "
        "a convolution, inputs that lie in memory as the fast one's do, made once outside of the "
        "loop. In an operator of your own, look at the way that it takes for these inputs."
    ),
    threshold=say(
        "{least} of the step: the fix changes several places.", least=exact_percent(MANY_PLACES)
    ),
    reference=say("oneDNN: verbose mode names the implementation of each call."),
    code=Code(
        before="y = operator(x.t())  # in each step",
        after="x = x.t().contiguous()  # once\ny = operator(x)",
    ),
    check=check,
    needs=("operators", "shapes"),
)
