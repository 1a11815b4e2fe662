"""Findings on calls far below the best of their kind: one for all kinds of work.

``analysis.idioms.far_calls`` finds the calls, on a device and on the host alone; the rules give
their words for a family, and the reason where the shapes show one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice import device_time, fusion
from tb_privateuse1.advice.removal_replay import Removal
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import RuleFinding, percent
from tb_privateuse1.analysis.idioms import products
from tb_privateuse1.analysis.idioms.call_kinds import CallKind, Family
from tb_privateuse1.analysis.idioms.far_calls import FarCalls, far_calls, kernels_of
from tb_privateuse1.analysis.work.arguments import Arguments
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.analysis.work.relations import read_call
from tb_privateuse1.i18n import join_sentences, plural, say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.table import I64, Bools

TILE = products.TILE
LEAST = 0.03
_RANGE = (0.8, 1.0)
"""The parts of the best rate between which the saving is given; the claim is at nine tenths."""


class CallContext(Struct, frozen=True):
    """The far call with most time at stake, for the reason."""

    case: RuleContext
    found: FarCalls
    row: int
    """Its row in ``found.calls``."""
    call: Arguments

    @property
    def op(self) -> int:
        """Return its row of ``trace.ops``."""
        return int(self.found.calls.op[self.row])

    @property
    def kind(self) -> CallKind:
        """Return its kind."""
        return self.found.kinds[int(self.found.calls.kind[self.row])]

    @property
    def channels_first(self) -> bool:
        """Return whether its first tensor surely has its channels before its places."""
        ops = self.case.trace.ops
        shape, stride = (
            _first_list(self.case.trace.text(column[self.op]))
            for column in (ops.shapes, ops.strides)
        )
        return len(stride) == len(shape) > 2 and shape[1] > 1 and stride[-1] == 1 < stride[1]

    @property
    def units(self) -> int | None:
        """Return the number of the device's units; None if it is not known."""
        devices = self.case.trace.meta.devices
        units = devices[0].get("numSms") if devices else None
        return units if isinstance(units, int) else None


class Words(Struct, frozen=True):
    """The words of a rule for a family of calls."""

    title: Callable[[str], str]
    """The title, from the number of shapes."""
    fix: str
    tuning: str
    """The name of the vendor's sentence."""
    on_host: str
    """What to do on the host alone."""


def check_family(
    case: RuleContext,
    families: tuple[Family, ...],
    words: Words,
    reason: Callable[[CallContext], str],
) -> Iterator[RuleFinding]:
    """Yield the calls of some families that others of their kind surpass.

    ``reason`` returns the sentence on a call, empty if its shape shows none.
    """
    found = far_calls(case.trace)
    calls = np.flatnonzero(found.far & found.of(*families) & _free(case, found))
    if found.on_host:
        calls = _explained(case, found, calls, reason)
    if not len(calls):
        return
    claim = _claim(case, found, calls, products.NEAR_BEST)
    if claim is None or case.share(intervals.length(claim)) < LEAST:
        return
    first, group = group_rows(found.calls.alike[calls])
    lost = np.floor(found.calls.duration_ns[calls] * found.shares(calls)).astype(np.int64)
    worst = int(np.argmax(sums(group, lost, len(first))))
    row = int(calls[first[worst]])
    low, high = (
        percent(case.share(intervals.length(_claim(case, found, calls, level) or intervals.EMPTY)))
        for level in _RANGE
    )
    table, rows, removes = _removal(case, found, calls)
    of_worst = np.isin(rows, _removal(case, found, calls[group == worst])[1])
    ops = found.calls.op[calls].astype(np.int64)
    context = _context(case, found, row)
    yield RuleFinding(
        title=words.title(plural(len(first), "shape")),
        explanation=_explanation(context, calls[group == worst], reason),
        events=len(rows),
        evidence=case.examples(table, rows[of_worst]),
        how=say(
            "Their time beyond that at 90 % of the best rate of their kind and type in this "
            "recording, while others waited for it: {low} to {high} of the time at 80 to 100 %.",
            low=low,
            high=high,
        ),
        claim=claim,
        removes=removes,
        confidence="medium",
        fix=join_sentences(
            (words.fix, words.on_host if found.on_host else getattr(case.vendor, words.tuning))
        ),
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


def _explained(
    case: RuleContext, found: FarCalls, calls: I64, reason: Callable[[CallContext], str]
) -> I64:
    """Return those of some calls whose shape shows why they are slow.

    On a host, what a call finds in the cache, and pages that it touches first, depend on its place
    in the step, not on its shape.
    """
    first, group = group_rows(found.calls.alike[calls])
    shown = [bool(reason(_context(case, found, row))) for row in calls[first].tolist()]
    return calls[np.array(shown, np.bool_)[group]]


def _context(case: RuleContext, found: FarCalls, row: int) -> CallContext:
    call = read_call(case.trace, int(found.calls.op[row]))
    assert call is not None  # it has a kind
    return CallContext(case, found, row, call)


def _free(case: RuleContext, found: FarCalls) -> Bools:
    """Return which calls are in judged time, and not part of what other rules judge."""
    trace = case.trace
    if found.on_host:
        return case.judged[found.calls.op]
    other = ~case.judged_kernels | fusion.in_chains(case)
    for already in (products.full_precision(trace), products.without_units(trace)):
        other[already.rows] = True
    everything = kernels_of(trace, found, np.arange(len(found.calls)))
    free = np.zeros(len(trace.ops) + 1, np.bool_)
    free[kernel_work(trace).op[everything.rows[~other[everything.rows]]]] = True
    flags: Bools = free[found.calls.op]
    return flags


def _removal(case: RuleContext, found: FarCalls, calls: I64) -> tuple[TableName, I64, Removal]:
    """Return the table and the rows of some calls, and what goes of them."""
    if found.on_host:
        rows = found.calls.op[calls].astype(np.int64)
        return "ops", rows, case.without(ops=rows, share=found.shares(calls))
    slow = kernels_of(case.trace, found, calls)
    return "kernels", slow.rows, device_time.removal_of(case, slow)


def _claim(case: RuleContext, found: FarCalls, calls: I64, level: float) -> intervals.Set | None:
    if not found.on_host:
        return device_time.claim_of(case, kernels_of(case.trace, found, calls, level))
    ops, op = case.trace.ops, found.calls.op[calls]
    start, end = ops.start_ns[op], ops.end_ns[op]
    spent = np.floor((end - start) * found.shares(calls, level)).astype(np.int64)
    return case.of_host(intervals.union(start, start + spent))


def _explanation(context: CallContext, alike: I64, reason: Callable[[CallContext], str]) -> str:
    """Return the sentences on the shape with most time at stake; ``alike`` are its calls."""
    found, trace = context.found, context.case.trace
    calls = found.calls
    reads = found.kinds[calls.kind[context.row]].reads
    rate = float(calls.work[alike].sum()) / max(float(calls.duration_ns[alike].sum()), 1.0)
    return say(
        "`{name}` of {shapes} reaches {rate}, while calls of the same kind and type reach {best} "
        "in this recording. {reason}",
        name=trace.text(trace.ops.name[context.op]),
        shapes=trace.text(trace.ops.shapes[context.op])[:80],
        rate=_rate(rate, reads=reads),
        best=_rate(float(found.best[context.row]), reads=reads),
        reason=reason(context)
        or say("The reason does not show in its shape: let the library tune it, or try a layout."),
    )


def plain_shapes(call: Arguments) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of the first two tensors of a call."""
    return call.tensor(0).shape, call.tensor(1).shape


def _first_list(text: str) -> list[int]:
    """Return the first list of numbers in a list of lists; empty if there is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return []
    lists = (one for one in found if isinstance(one, list) and one) if found else ()
    return next((one for one in lists if all(isinstance(size, int) for size in one)), [])


def _rate(per_ns: float, *, reads: bool) -> str:
    """Return a rate with its unit, from bytes or FLOPs per ns."""
    if reads:
        return f"{per_ns:,.4g} GB/s"
    return f"{per_ns / 1e3:,.4g} TFLOP/s" if per_ns >= 1e3 else f"{per_ns:,.4g} GFLOP/s"
