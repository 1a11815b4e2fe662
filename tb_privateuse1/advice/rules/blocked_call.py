"""The host is blocked in a call while the device has no work, and no other rule says why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tb_privateuse1.advice.awaited_results import awaited
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.account import calls_without_launches
from tb_privateuse1.analysis.account.class_intervals import ClassIntervals
from tb_privateuse1.analysis.account.classes import CLASSES, NUMBER, ClassName
from tb_privateuse1.analysis.account.host_activity import LAUNCHES, OPS, TABLES
from tb_privateuse1.analysis.account.table import function_of_intervals
from tb_privateuse1.analysis.operators.function_names import ProgramFunction, call_title
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.call_tree import STEP, starts_with
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.model import NONE, OPERATOR
from tb_privateuse1.trace.table import I32, I64, Bools

_CLASSES: tuple[ClassName, ...] = (
    "synchronization", "blocking_copy", "device_memory", "file_or_lock", "other_rank",
)  # fmt: skip
_MOST = 5
"""Calls that are findings, the costliest first."""

_ARRIVALS = re.compile(
    r"\b(select|poll|epoll_wait|kevent|recv\w*|accept|get of _queue\.SimpleQueue)\b"
)
"""Functions that return when another program sends something."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the time of each blocking call, by its name and the operator around it.

    Waits behind all work of the recording are its end. A program without a backward pass that waits
    for what others send may have nothing to do: no saving is promised.
    """
    own = case.class_intervals
    some = np.isin(own.time_class, [NUMBER[name] for name in _CLASSES]) & (own.row >= 0)
    own = own.take(np.flatnonzero(some))
    own = own.take(np.flatnonzero(~_is_awaited(case, own)))
    if not len(own):
        return
    name, op = _sites(case, own)
    first, group = groupby.group_rows(own.table, name, op)
    total = groupby.sums(group, own.end_ns - own.start_ns, len(first))
    total[groupby.minima(group, own.start_ns, len(first)) >= _last_work_ns(case)] = 0
    for i in np.argsort(-total, kind="stable")[:_MOST].tolist():
        if case.share(int(total[i])) >= MANY_PLACES:
            yield _finding(case, own.take(np.flatnonzero(group == i)), int(op[first[i]]))


def _is_awaited(case: RuleContext, own: ClassIntervals) -> Bools:
    """Return which intervals are of copies of results that have to be awaited."""
    waits = case.limits.waits.take(awaited(case))
    launches = (own.table == LAUNCHES) & np.isin(own.row, waits.launch[waits.launch >= 0])
    found: Bools = launches | ((own.table == OPS) & np.isin(own.row, waits.op[waits.op >= 0]))
    return found


def _last_work_ns(case: RuleContext) -> int:
    """Return when the last operator begins, or the last call that starts an activity."""
    ops, launches, kernels = case.trace.ops, case.trace.launches, case.trace.kernels
    starts = (
        ops.start_ns[ops.kind == OPERATOR],
        launches.start_ns[kernels.launch[kernels.launch >= 0]],
    )
    return max((int(one.max()) for one in starts if len(one)), default=np.iinfo(np.int64).max)


def _sites(case: RuleContext, own: ClassIntervals) -> tuple[I64, I64]:
    """Return for each interval the names of its call and of the operator around it, or ``NONE``.

    Names that differ by an object's address are one.
    """
    trace = case.trace
    name, op = np.full(len(own), NONE, np.int64), np.full(len(own), NONE, np.int64)
    operators = np.where(trace.ops.kind == OPERATOR, trace.ops.name, NONE)
    operators[starts_with(trace, STEP)[trace.ops.name]] = NONE
    ops_name = np.append(operators, NONE)
    for number, table in enumerate(TABLES[:3]):
        here = own.table == number
        columns: Any = getattr(trace, table)
        rows = own.row[here]
        around: I32 = columns.parent if number == OPS else columns.op
        name[here], op[here] = columns.name[rows], ops_name[around[rows]]
    return calls_without_launches.title_numbers(trace, name), op


def _finding(case: RuleContext, own: ClassIntervals, op: int) -> RuleFinding:
    trace = case.trace
    table = TABLES[own.table[0]]
    columns: Any = getattr(trace, table)
    rows = np.unique(own.row).astype(np.int64)
    spent = intervals.union(own.start_ns, own.end_ns)
    claim = intervals.intersect(spent, case.limits.all_idle)
    call = call_title(trace, trace.text(columns.name[rows[0]]))
    kind = CLASSES[own.time_class[0]]
    inside = say(" in {operator}", operator=trace.text(op)) if op >= 0 else ""
    source = function_of_intervals(trace, own)
    waits = case.limits.waits
    is_own = waits.launch if own.table[0] == LAUNCHES else waits.op
    if _ARRIVALS.search(call) and not len(find_passes(trace).backward_ns):
        return _arrival(case, table, rows, call, intervals.length(claim), source)
    return RuleFinding(
        title=say(
            "The host is blocked in {call}{inside}: {share} of the time",
            call=call,
            inside=inside,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls} of this call returned late, and the device had no work meanwhile. {meaning}",
            calls=plural(len(rows), "instance"),
            meaning=kind.meaning,
        ),
        events=len(rows),
        evidence=case.examples(table, rows),
        how=say("The idle time while the host is in the call, as the account of time has it."),
        claim=claim,
        removes=case.without(
            instants=claim,
            waits=np.flatnonzero(np.isin(is_own, rows)),
        ),
        confidence="medium",
        source=source,
        lacks=() if source else case.lacks("stacks"),
    )


def _arrival(
    case: RuleContext,
    table: TableName,
    rows: I64,
    call: str,
    ns: int,
    source: ProgramFunction | None,
) -> RuleFinding:
    """Return the note on a program that waits for what others send."""
    return RuleFinding(
        title=say(
            "The program waits for others in {call} {waiting} of the time",
            call=call,
            waiting=percent(case.share(ns)),
        ),
        explanation=say(
            "{calls} of this call returned when another program had sent something: a request, or "
            "a result of another process. The device had no work meanwhile.",
            calls=plural(len(rows), "instance"),
        ),
        events=len(rows),
        evidence=case.examples(table, rows),
        how=say(
            "None is promised: a server without requests has nothing to do. If requests wait "
            "elsewhere, what sends them is too slow."
        ),
        confidence="low",
        source=source,
        fix=say(
            "Record under full load. If requests queue up outside, hand over several at once, or "
            "prepare them in more processes."
        ),
    )


RULE = Rule(
    name="blocked_call",
    title=say("The host is blocked in a call"),
    cause="waiting",
    looks_for=say(
        "Idle time of the account while the host synchronizes, copies, allocates, waits for a "
        "file, a lock or another rank, by call and operator. Not the wait behind all work; without "
        "a backward pass, no saving where it waits for what others send."
    ),
    why=say("The host launches nothing meanwhile, so the device runs dry."),
    fix=say(
        "Remove the call from the loop, make it asynchronous, or move it to where the device has "
        "enough work in its queue."
    ),
    threshold=say(
        "{least} of the step: below that, other causes of waiting weigh as much.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("docs/reference/definitions.md, account of time."),
    check=check,
    needs=("device",),
    precedence="symptom",
)
