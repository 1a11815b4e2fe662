"""Launch-bound: the device is idle because the host launches too slowly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from tb_privateuse1.advice.awaited_results import answered_waits
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.rules.unrecorded_pauses import pauses
from tb_privateuse1.advice.thresholds import ANY_PROGRAM, PROGRAM
from tb_privateuse1.analysis.account import calls_without_launches
from tb_privateuse1.analysis.account.classes import CLASSES, NUMBER, ClassName
from tb_privateuse1.analysis.account.table import main_cause
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.i18n import Text, fill, join_list, say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.findings import Example
from tb_privateuse1.trace.table import I64

_CLASSES: tuple[ClassName, ...] = ("dispatch", "launch_call", "python")
"""Classes of the account in which the host works towards the next launch."""

_TOP = 5
"""Operators that are shown as evidence."""
_APART = 0.03
"""From this share on, ``python_overhead`` reports calls that launch nothing."""

Form = Literal["eager", "compiled", "captured"]

_GRAPHS = r"(?i)graph_?(launch|replay|exec)"
_COMPILED = r"^(## )?(Torch-Compiled Region|Call CompiledFxGraph|CompiledFunction)"

_TITLES: dict[Form, Text] = {
    "eager": say("Launch-bound: the host launches operators one by one, {share} of the time"),
    "compiled": say("Launch-bound: the host launches compiled fragments, {share} of the time"),
    "captured": say("Launch-bound: the host launches graphs too slowly, {share} of the time"),
}
_FIXES: dict[Form, str] = {
    "eager": say(
        "Compile the step (torch.compile) or capture it into a graph, use fused and foreach "
        "operators, raise the batch size."
    ),
    "compiled": say(
        'Replay graphs of the compiled fragments (torch.compile(mode="reduce-overhead")), and '
        "remove graph breaks so that there are fewer fragments."
    ),
    "captured": say(
        "Capture fewer, larger graphs: whole steps instead of layers. Prepare the inputs of the "
        "next replay while the device works."
    ),
}


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the idle time in which the host works towards the next launch."""
    trace = case.trace
    claim = case.in_classes(*_CLASSES)
    for calls in calls_without_launches.apart_calls(trace, claim):
        if case.share(calls.ns) >= _APART:
            claim = intervals.subtract(claim, calls.time)
    claim = intervals.subtract(claim, pauses(case))
    claim = case.usual(intervals.subtract(claim, _answers(case)))
    idle = intervals.length(claim)
    if case.share(idle) < ANY_PROGRAM or int(case.judged_kernels.sum()) < PROGRAM:
        return
    parts = {name: _length(case, name, claim) for name in _CLASSES}
    rows = _starving(case, claim)
    names = list(dict.fromkeys(trace.text(trace.ops.name[row]) for row in rows))
    busiest = say(" Most of it went by in {names}.", names=join_list(names[:3])) if names else ""
    form = _form(case)
    yield RuleFinding(
        title=fill(_TITLES[form], share=percent(case.share(idle))),
        explanation=say(
            "The device had done all it was given and waited for the next launch. Of the time, "
            "the host spent {parts}.{most}",
            parts=join_list(
                say("{share} in {what}", share=percent(case.share(ns)), what=_label(name))
                for name, ns in parts.items()
            ),
            most=busiest,
        ),
        events=len(claim[0]),
        evidence=_gaps(case, claim),
        how=say(
            "All time of these classes in the account, less what other findings explain. Removing "
            "the host's work entirely would save it."
        ),
        claim=claim,
        removes=case.without(instants=claim),
        confidence="medium",
        source=_function(case, claim),
        lacks=case.lacks("stacks"),
        fix=_FIXES[form],
    )


def _answers(case: RuleContext) -> intervals.Set:
    """Return Python's time behind results that it answers with new data: no graph shortens it.

    It is at most as long as the wait for each result. ``blocking_copy`` has a note on much of it.
    """
    return intervals.intersect(case.idle_by_waits(answered_waits(case)), case.in_classes("python"))


def _length(case: RuleContext, name: ClassName, claim: intervals.Set) -> int:
    return intervals.length(intervals.intersect(claim, case.in_classes(name)))


def _function(case: RuleContext, claim: intervals.Set) -> ProgramFunction | None:
    """Return the function of the class with most of the time, as the verdict names it."""
    most = max(_CLASSES, key=lambda name: _length(case, name, claim))
    own = case.class_intervals
    return main_cause(case.trace, own.take(np.flatnonzero(own.time_class == NUMBER[most]))).where


def _label(name: ClassName) -> str:
    return CLASSES[NUMBER[name]].label


def _form(case: RuleContext) -> Form:
    """Return how most activities of the judged time are launched."""
    trace = case.trace
    kernels = trace.kernels
    rows = np.flatnonzero(case.judged_kernels)
    graph = np.append(case.named("launches", _GRAPHS), False)
    captured = graph[kernels.launch[rows]]
    compiled = case.around(kernels.op[rows], case.named("ops", _COMPILED)) >= 0
    half = len(rows) / 2
    if captured.sum() > half:
        return "captured"
    return "compiled" if (compiled | captured).sum() > half else "eager"


def _gaps(case: RuleContext, claim: intervals.Set) -> tuple[Example, ...]:
    """Return the activities after idle times: one of median length, then the longest."""
    kernels = case.trace.kernels
    next_ = np.searchsorted(kernels.start_ns, claim[1])
    some = next_ < len(kernels)
    rows, group = np.unique(next_[some], return_inverse=True)
    length = groupby.sums(group, (claim[1] - claim[0])[some], len(rows))
    order = np.argsort(-length, kind="stable")
    chosen = np.concatenate((order[len(order) // 2 :][:1], order[: _TOP - 1]))
    notes = [
        say("after {time} without work", time=with_unit("idle_ns", ns))
        for ns in length[chosen].tolist()
    ]
    return case.examples("kernels", rows[chosen], notes) if notes else ()


def _starving(case: RuleContext, claim: intervals.Set) -> I64:
    """Return the operators with the most time while the device was idle, one per name."""
    ops, top = case.trace.ops, case.top
    idle_ns = intervals.covered_length(claim, ops.start_ns[top], ops.end_ns[top])
    total = np.bincount(ops.name[top], weights=idle_ns)
    chosen = []
    for name in np.argsort(-total, kind="stable")[:_TOP].tolist():
        if total[name] > 0:
            calls = np.flatnonzero(ops.name[top] == name)
            chosen.append(top[calls[np.argmax(idle_ns[calls])]])
    return np.array(chosen, np.int64)


RULE = Rule(
    name="host_bound",
    title=say("The host launches too slowly"),
    cause="launching",
    looks_for=say(
        "Idle device time while the host is in operators, launch calls or the code between them."
    ),
    why=say("The device could do more work in the same time, or the same work in less."),
    fix=_FIXES["eager"],
    threshold=say(
        "{least} of the step: less is found in any program that is not replayed from a graph. "
        "{many} activities: fewer are no program.",
        least=exact_percent(ANY_PROGRAM),
        many=PROGRAM,
    ),
    reference=say("XProf: device idle (10 %); TraceLens: idle (15 %)."),
    code=Code(
        before=("for batch in loader:\n    step(batch)"),
        after=(
            'step = torch.compile(step, mode="reduce-overhead")  # graphs of fused kernels\n'
            "for batch in loader:\n"
            "    step(batch)"
        ),
    ),
    remedy="compile",
    check=check,
    needs=("device", "operators"),
    precedence="rest",
)
