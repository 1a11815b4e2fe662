"""Checkpoints that the program stops for: it copies its state to the host and writes it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.account import state_writes
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import call_title
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the idle time and the exposed copies in calls that write the program's state."""
    found, trace = state_writes.state_writes(case.trace), case.trace
    frames, waits = trace.frames, case.limits.waits
    writing = case.time(found.frames, "frames")
    rows = found.frames[_judged(case, found.frames)]
    inside = np.flatnonzero(
        intervals.covered_length(writing, waits.start_ns, waits.start_ns + 1) > 0
    )
    lost = intervals.merge(case.limits.all_idle, case.in_classes("exposed_copy"))
    claim = intervals.intersect(writing, intervals.intersect(lost, case.window))
    claim = intervals.merge(claim, case.idle_by_waits(inside))
    if not len(rows) or case.share(intervals.length(claim)) < ONE_PLACE:
        return
    name = call_title(trace, trace.text(frames.name[rows[0]]))
    yield RuleFinding(
        title=say(
            "The program waits while {name} writes its state: {share} of the time",
            name=name,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls} copied {copies} to the host and wrote them, and launched nothing meanwhile. "
            "The device ran dry.",
            calls=plural(len(rows), "call"),
            copies=plural(len(found.kernels), "tensor"),
        ),
        events=len(rows),
        evidence=case.examples("frames", rows),
        how=say(
            "The idle time and the exposed copies in these calls, and the idle time behind their "
            "waits, at most as long as each wait."
        ),
        claim=claim,
        removes=case.without(frames=found.frames, waits=inside, kernels=found.kernels),
        confidence="high",
        source=user_functions.of_frame(case.trace, int(rows[0])),
    )


def _judged(case: RuleContext, rows: I64) -> I64:
    frames = case.trace.frames
    length = intervals.covered_length(case.window, frames.start_ns[rows], frames.end_ns[rows])
    return np.flatnonzero(length > 0)


RULE = Rule(
    name="checkpoint_writes",
    title=say("Checkpoints stop the program"),
    cause="waiting",
    looks_for=say(
        "Python calls that copy tensors to the host, write bytes (write, dump, fsync, …) and "
        "compute nothing on the device. Single values are no state."
    ),
    why=say("The host launches nothing until all is copied, converted and written."),
    fix=say(
        "Copy the state on a stream of its own into pinned memory and write it from a thread "
        "(torch.distributed.checkpoint.async_save), or write more rarely."
    ),
    threshold=say(
        "{least} of the analyzed steps; a recording of a few steps shows few checkpoints.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("PyTorch tutorial on asynchronous checkpoints."),
    code=Code(
        before="torch.save(model.state_dict(), path)",
        after=(
            'state = {"model": model.state_dict()}\n'
            "writing = torch.distributed.checkpoint.async_save(state, checkpoint_id=path)"
        ),
    ),
    check=check,
    needs=("device", "operators", "stacks"),
)
