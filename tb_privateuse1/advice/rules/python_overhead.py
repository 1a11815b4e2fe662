"""Device idle time while the host runs Python outside of any operator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, percent, say
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

_NO_WORK = (
    r"^threading\.py\(\d+\): (wait|join|_wait_for_tstate_lock)|method acquire of _thread"
    r"|<built-in (function|method) (sleep|wait|poll|select|run_backward)"
    r"|^torch/(autograd/)?profiler"
)
"""Frames that wait for another thread, such as autograd's, or belong to the profiler."""

_LEAST = 0.05
_TOP = 5


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the idle time under Python frames without an operator, call or wait.

    Only threads whose time can delay launches count.
    """
    trace = case.trace
    if not len(trace.frames) or not len(trace.kernels):
        return
    ops, launches, frames = trace.ops, trace.launches, trace.frames
    # Other threads, such as a progress bar's monitor, delay no launch.
    driving = np.append(thread_roles(trace).driving, False)
    outer = np.flatnonzero((frames.parent < 0) & driving[frames.thread])
    idling = np.flatnonzero(case.named("frames", _NO_WORK) & driving[frames.thread])
    calls = np.flatnonzero(driving[launches.thread])
    working = intervals.merge(
        case.time(case.top[driving[ops.thread[case.top]]]),
        intervals.merge(case.time(calls, "launches"), case.time(idling, "frames")),
    )
    open_ = intervals.intersect(case.limits.idle, case.time(outer, "frames"))
    python = intervals.subtract(open_, working)
    if case.share(intervals.length(python)) < _LEAST:
        return
    rows = _busiest(case, python, np.flatnonzero(driving[frames.thread]))
    names = [trace.text(trace.frames.name[row]) for row in rows]
    places = "; ".join(names[:3])
    yield RuleFinding(
        title=say(
            "The device waits for Python: {share} of the time",
            share=percent(case.share(intervals.length(python))),
        ),
        explanation=say(
            "The host was in Python, in no operator of torch, and the device had nothing to "
            "do. Most of the time was spent in {places}. Recording stacks makes Python slower: "
            "without a profiler it is less.",
            places=places,
        ),
        events=len(python[0]),
        evidence=case.examples("frames", rows),
        how=say(
            "Time with open Python frames and without an operator or runtime call, while the "
            "device had nothing to do."
        ),
        claim=python,
        removes=case.without(instants=python),
        confidence="low",
        source=next((name for name in names if ".py(" in name), None),
        lacks=(say("the program's speed without recording stacks"),),
    )


def _busiest(case: RuleContext, python: intervals.Set, rows: I64) -> I64:
    """Return one frame of ``rows`` for each of the names with most self time in the idle time."""
    frames = case.trace.frames
    total_ns = np.zeros(len(frames), np.int64)
    total_ns[rows] = intervals.covered_length(python, frames.start_ns[rows], frames.end_ns[rows])
    outer = frames.parent >= 0
    self_ns = total_ns.copy()
    np.subtract.at(self_ns, frames.parent[outer], total_ns[outer])
    total = np.bincount(frames.name, weights=np.maximum(self_ns, 0))
    best = np.argsort(-total, kind="stable")[:_TOP]
    order = np.lexsort((-self_ns, frames.name))
    first = order[np.searchsorted(frames.name[order], best[total[best] > 0])]
    chosen: I64 = first
    return chosen


RULE = Rule(
    name="python_overhead",
    title=say("Python between operators"),
    cause="launching",
    looks_for=say(
        "Open Python frames without an operator or a runtime call, while the device idles."
    ),
    why=say("Python is slow enough to keep a fast device waiting."),
    fix=say(
        "Move the work out of the loop (logging, metrics, data preparation), vectorise it, or "
        "compile the step."
    ),
    threshold=say("5 % of the step: recording stacks alone costs a few per cent."),
    reference=say("PyTorch performance tuning guide."),
    check=check,
    needs=("device", "stacks", "operators"),
    precedence="symptom",
)
