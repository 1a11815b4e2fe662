"""Host code apart from launches that the device waits for: preprocessing, logging, metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.account import calls_without_launches
from tb_privateuse1.analysis.account.class_intervals import within
from tb_privateuse1.analysis.account.classes import NUMBER, ClassName
from tb_privateuse1.analysis.account.own_python import OwnPython, own_python, tensor_texts
from tb_privateuse1.analysis.account.table import function_of_intervals
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction, call_title
from tb_privateuse1.analysis.simulation import changes
from tb_privateuse1.analysis.simulation.changes import Change, Kind
from tb_privateuse1.i18n import join_list, join_sentences, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import containing, mask_of
from tb_privateuse1.trace.table import I64

_WORK: tuple[ClassName, ...] = ("python", "dispatch", "file_or_lock", "launch_call")
"""Classes of the account that the program's own code causes."""

_MOST, _INNER = 5, 3
"""Findings, the costliest first, and names of inner functions in each."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield by name the idle time in calls that launch nothing, or on a host in its own Python."""
    if not len(case.trace.kernels):
        return
    texts = tensor_texts(case.trace)
    yield from _texts(case, texts.rows[texts.dropped], dropped=True)
    yield from _texts(case, texts.rows[~texts.dropped], dropped=False)
    written = case.time(texts.rows, "frames")
    if case.is_host:
        yield from _on_host(case, intervals.subtract(case.idle, written))
        return
    time = intervals.subtract(case.in_classes(*_WORK), written)
    found = calls_without_launches.apart_calls(case.trace, time)
    waiting = case.in_classes("file_or_lock")
    for calls in found[:_MOST]:
        # ``blocked_call`` names what waits rather than works.
        waited = intervals.length(intervals.intersect(calls.time, waiting))
        if case.share(calls.ns) >= MANY_PLACES and 2 * waited < calls.ns:
            yield _finding(case, calls)


def _texts(case: RuleContext, rows: I64, *, dropped: bool) -> Iterator[RuleFinding]:
    """Yield what writes tensors as text, for a logger that drops it or for readers unknown."""
    trace, time = case.trace, intervals.intersect(case.time(rows, "frames"), case.window)
    if not intervals.length(time) or not _in_each_step(case, time):
        return
    ops = case.operators[containing(*time, trace.ops.start_ns[case.operators]) >= 0]
    ops = ops[trace.ops.thread[ops] == trace.frames.thread[rows[0]]]
    inside = mask_of(ops, len(trace.ops))
    kernels, waits = case.launched_by(inside), case.waits_in(inside)
    claim = case.of_device(case.time(kernels, "kernels"))
    claim = intervals.merge(claim, case.of_host(time) or intervals.EMPTY)
    claim = intervals.merge(claim, case.idle_by_waits(waits))
    if case.share(intervals.length(claim)) < MANY_PLACES:
        return
    reader = (
        say("A logger is given these texts, and drops messages of this level.")
        if dropped
        else say("The recording does not show who reads these texts.")
    )
    written = say(
        "{calls} wrote a tensor as text, with {operators:,.0f} operators each, and number by "
        "number in Python.",
        calls=plural(len(rows), "call"),
        operators=len(case.outermost(ops)) / len(rows),
    )
    yield RuleFinding(
        title=say(
            "Tensors are written as text: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=join_sentences([written, reader]),
        events=len(rows),
        evidence=case.examples("frames", rows),
        how=say("The time of these calls, and the device's of what they launch."),
        claim=claim,
        removes=case.without(instants=time, kernels=kernels, waits=waits),
        may_vanish=not dropped,
        confidence="medium" if dropped else "low",
        source=user_functions.of_frame(trace, int(rows[0])),
        fix=_OF_TEXTS,
        code=_LAZY,
    )


def _on_host(case: RuleContext, idle: intervals.Set) -> Iterator[RuleFinding]:
    """Yield the program's functions whose Python runs for long while no operator does."""
    idle = intervals.intersect(case.class_time("python"), idle)
    behind = _behind_operators(case)
    for own in own_python(case.trace, idle)[:_MOST]:
        # What neither feeds an operator nor reads a result is beside the step: ``side_work``.
        used = own if own.reads else replace(own, time=intervals.subtract(own.time, behind))
        if case.share(used.ns) >= MANY_PLACES and _in_each_step(case, used.time):
            yield _of_python(case, used)


def _behind_operators(case: RuleContext) -> intervals.Set:
    """Return the time of steps behind their last operator."""
    steps, top = case.trace.steps, case.top
    starts, ends = steps.host_start_ns[case.steps], steps.host_end_ns[case.steps]
    last = groupby.maxima(
        containing(starts, ends, case.trace.ops.start_ns[top]),
        case.trace.ops.end_ns[top],
        len(ends),
    )
    return intervals.union(np.clip(last, starts, ends), ends)


def _in_each_step(case: RuleContext, time: intervals.Set) -> bool:
    """Return whether most steps have their part of the time: one may be held up by chance."""
    if len(case.steps) < 2:
        return True
    steps = case.trace.steps
    spent = intervals.covered_length(
        time, steps.host_start_ns[case.steps], steps.host_end_ns[case.steps]
    )
    return bool(2 * np.count_nonzero(2 * spent >= spent.mean()) > len(spent))


def _of_python(case: RuleContext, own: OwnPython) -> RuleFinding:
    trace = case.trace
    inner = calls_without_launches.innermost_names(trace, own.time, _INNER)
    name = call_title(trace, trace.text(trace.frames.name[own.rows[0]]))
    where = say(" Most of the time went by in {names}.", names=join_list(inner)) if inner else ""
    return RuleFinding(
        title=say(
            "Python runs in {name}, and no operator: {share} of the time",
            name=name,
            share=percent(case.share(own.ns)),
        ),
        explanation=say(
            "{calls} ran Python for as long as several operators take, and nothing was computed "
            "meanwhile. Python handles one item at a time.{where}",
            calls=plural(len(own.rows), "call"),
            where=where,
        ),
        events=len(own.rows),
        evidence=case.examples("frames", own.rows),
        how=say("The time of these functions in which no operator runs."),
        claim=own.time,
        removes=case.without(instants=own.time),
        # What needs a result of the step cannot be done ahead of it.
        may_vanish=own.reads,
        confidence="low" if own.reads else "medium",
        source=user_functions.of_frame(trace, int(own.rows[0])),
        fix=_OF_RESULTS if own.reads else _AHEAD,
    )


_AHEAD = say(
    "Do it ahead of time: once for all data before the loop, or in the workers of a data loader. "
    "What must be new in each step: for all items at once, with arrays or tensors."
)
_OF_RESULTS = say(
    "Work on the whole tensor instead of its values in Python: comparisons, torch.bincount, "
    "searchsorted, gather. Metrics and logs: after each n-th step. What simulates a world for the "
    "next step: several worlds in processes of their own."
)


_OF_TEXTS = say(
    "Let the logger write the text, which it does for wanted messages alone: arguments in place of "
    "an f-string; or ask log.isEnabledFor first. Wanted messages: after each n-th step, with a "
    "few numbers of the tensor."
)
_LAZY = Code(
    before='log.debug(f"hidden: {hidden}")',
    after='log.debug("hidden: %s", hidden)',
)


def _finding(case: RuleContext, calls: calls_without_launches.ApartCalls) -> RuleFinding:
    trace, rows = case.trace, calls.rows
    columns: Any = getattr(trace, calls.table)
    is_framed = calls.table == "frames"
    inner = calls_without_launches.innermost_names(trace, calls.time, _INNER)
    name = call_title(trace, trace.text(columns.name[rows[0]]))
    source = _function(case, calls) if is_framed else case.source(rows)
    where = say(" Most of the time went by in {names}.", names=join_list(inner)) if inner else ""
    return RuleFinding(
        title=say(
            "The device waits for {name}: {share} of the time",
            name=_called(name, source) if is_framed else name,
            share=percent(case.share(calls.ns)),
        ),
        explanation=say(
            "{calls} launched nothing, and the device had nothing to do meanwhile. Code like this "
            "prepares data, writes logs or computes metrics.{where}",
            calls=plural(len(rows), "call"),
            where=where,
        ),
        events=len(rows),
        evidence=case.examples(calls.table, rows),
        how=say("The idle time in these calls."),
        claim=calls.time,
        removes=case.without(instants=calls.time),
        change=_change(case, calls),
        confidence="medium" if is_framed else "low",
        source=source,
        lacks=() if is_framed else case.lacks("stacks"),
    )


def _called(name: str, source: ProgramFunction | None) -> str:
    """Return the words for a call, with the user's function around it if that is another one."""
    if source is None or source.title == name:
        return name
    return say("{name}, called in {caller}", name=name, caller=source.title)


def _change(case: RuleContext, calls: calls_without_launches.ApartCalls) -> Change | None:
    """Return the removal of the function; None if the calls have several names, or others launch.

    Then only these calls are removed.
    """
    columns: Any = getattr(case.trace, calls.table)
    names = np.unique(columns.name[calls.rows])
    kind: Kind = "function" if calls.table == "frames" else "operator"
    change = Change(kind, case.trace.text(names[0]), 0.0)
    launches = changes.change_scope(case.trace, change).kernels.any()
    return None if len(names) > 1 or launches else change


def _function(
    case: RuleContext, calls: calls_without_launches.ApartCalls
) -> ProgramFunction | None:
    """Return the user's function with most of the time in these calls, as the verdict names it."""
    inside = within(case.class_intervals, calls.time)
    own = inside.take(np.flatnonzero(np.isin(inside.time_class, [NUMBER[name] for name in _WORK])))
    return function_of_intervals(case.trace, own)


RULE = Rule(
    name="python_overhead",
    title=say("Host code apart from launches"),
    cause="launching",
    looks_for=say(
        "Python frames (without stacks: annotations) that launch nothing, as long as five "
        "operators or longer, while the device idles. On a host alone: functions of the program "
        "that run Python for as long without an operator, in most steps. Calls of torch that write "
        "a tensor as text, in most steps."
    ),
    why=say("The device waits for code that has nothing to do with it."),
    fix=say(
        "Do it ahead of time: in the data loader's workers, in a thread, or before the loop. Log "
        "and compute metrics rarely; vectorize what remains, or do it on the device."
    ),
    threshold=say(
        "{least} of the step a call: less is hard to tell from the profiler's own time.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("PyTorch performance tuning guide."),
    code=Code(
        before=(
            "for batch in loader:\n    loss = model(preprocess(batch))\n    log(metrics(loss))"
        ),
        after=(
            "loader = DataLoader(data, collate_fn=preprocess, num_workers=8)\n"
            "for i, batch in enumerate(loader):\n"
            "    loss = model(batch)\n"
            "    if i % 100 == 0:\n"
            "        log(metrics(loss))"
        ),
    ),
    check=check,
    needs=("work", "operators"),
    precedence="rest",
)
