"""Operators that wait in the backend's task queue while the device has no work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES, PROGRAM
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.table import I64

_TOP = 3
"""Names in the sentence."""
_MUCH = 0.1
"""Least share of the tasks' time for a call inside them to be named."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the idle time in which operators were in the queue, and its thread was behind."""
    rows = _tasks(case)
    if len(rows) < PROGRAM:
        return
    ops, launches = case.trace.ops, case.trace.launches
    # The operator's end is the latest time at which it can have been enqueued.
    enqueued, begun = ops.end_ns[launches.op[rows]], launches.start_ns[rows]
    waited = rows[begun > enqueued]
    waiting = intervals.union(enqueued[begun > enqueued], launches.start_ns[waited])
    claim = case.of_host(waiting)
    if claim is None or case.share(intervals.length(claim)) < MANY_PLACES:
        return
    duration = launches.end_ns[rows] - launches.start_ns[rows]
    yield RuleFinding(
        title=say(
            "Operators wait in the task queue while the device idles: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{waited:,} of {tasks:,} operators waited for the queue's thread, {wait} at the "
            "median, and the device had no work. The thread takes {task} for a task at the median "
            "and {longest} for the longest.{inside}",
            waited=len(waited),
            tasks=len(rows),
            wait=with_unit("wait_ns", int(np.median(np.maximum(begun - enqueued, 0)))),
            task=with_unit("task_ns", int(np.median(duration))),
            longest=with_unit("task_ns", int(duration.max())),
            inside=_inside(case, rows),
        ),
        events=len(waited),
        evidence=case.examples("launches", rows),
        how=say(
            "The idle time in which an operator had been enqueued and the queue's thread had not "
            "begun with it. Tasks that take no time would save it: so this is at most."
        ),
        claim=claim,
        removes=case.without(launches=rows),
        confidence="high",
    )


def _tasks(case: RuleContext) -> I64:
    """Return the calls of a task queue: on another thread than their operator.

    Only the outermost of nested calls, by thread and start.
    """
    ops, launches = case.trace.ops, case.trace.launches
    linked = np.flatnonzero(launches.op >= 0)
    op = launches.op[linked]
    other = (ops.thread[op] != launches.thread[linked]) & case.judged[op]
    rows = linked[other & (launches.start_ns[linked] >= ops.start_ns[op])]
    outer = []
    for _, group in groupby.split_by_value(launches.thread[rows]):
        own = rows[group]
        own = own[np.lexsort((-launches.end_ns[own], launches.start_ns[own]))]
        reach = np.maximum.accumulate(launches.end_ns[own])
        begins = np.append(True, launches.start_ns[own][1:] >= reach[:-1])
        outer.append(own[begins])
    return np.concatenate(outer) if outer else rows


def _inside(case: RuleContext, rows: I64) -> str:
    """Return the sentence about the calls that take most of the tasks' time; empty without any."""
    launches = case.trace.launches
    inner = np.setdiff1d(np.flatnonzero(np.isin(launches.thread, launches.thread[rows])), rows)
    inner = inner[np.lexsort((launches.start_ns[inner], launches.thread[inner]))]
    start, end, thread = launches.start_ns[inner], launches.end_ns[inner], launches.thread[inner]
    # Of nested calls the innermost: no other call of its thread begins before its end.
    is_last = np.ones(len(inner), np.bool_)
    is_last[:-1] = (start[1:] >= end[:-1]) | (thread[1:] != thread[:-1])
    inner = inner[is_last]
    start, end = launches.start_ns[inner], launches.end_ns[inner]
    spent = intervals.covered_length(case.time(rows, "launches"), start, end)
    names, group = np.unique(launches.name[inner], return_inverse=True)
    total = groupby.sums(group, spent, len(names))
    whole = intervals.length(case.time(rows, "launches"))
    top = [i for i in np.argsort(-total, kind="stable")[:_TOP] if total[i] >= _MUCH * whole]
    if not top:
        return ""
    return say(
        " Of its time, {parts}.",
        parts=join_list(
            say(
                "{share} is in {call}",
                share=percent(int(total[i]) / whole),
                call=case.trace.text(names[i]),
            )
            for i in top
        ),
    )


RULE = Rule(
    name="task_queue",
    title=say("Task queue that falls behind"),
    cause="launching",
    looks_for=say(
        "Calls that another thread makes for an operator, and that begin after the operator has "
        "ended, while the device idles."
    ),
    why=say(
        "The program is ahead already: compiling or capturing it helps only as far as it makes "
        "fewer tasks."
    ),
    fix=say(
        "In the backend: cache what a task prepares again each time (compiled operators, tilings, "
        "descriptors, workspace sizes), move checks to the enqueuing thread, and bind the queue's "
        "thread to a core of its own. In the program: fewer operators (fused ones, graphs), no "
        "compilation at run time (jit_compile=False on Ascend), TASK_QUEUE_ENABLE=2 there."
    ),
    threshold=say(
        "{least} of the step, in {many} tasks: an operator waits for a while in any queue.",
        least=exact_percent(MANY_PLACES),
        many=PROGRAM,
    ),
    reference=say("torch_npu's task queue; msprof-analyze's dispatch rules."),
    code=Code(
        before="python train.py",
        after="TASK_QUEUE_ENABLE=2 python train.py",
    ),
    check=check,
    needs=("device", "operators"),
    precedence="symptom",
)
