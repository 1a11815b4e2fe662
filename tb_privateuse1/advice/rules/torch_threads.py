"""torch's threads on a CPU: fewer than its processors, or more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.recording.capture_notes import recorded_threads
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import I64

_LEAST_FLOPS = 1_000_000
"""A smaller product takes a core less than 0.1 ms: threads gain little over their start."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield threads that are fewer than the processors, or more; neither has a price.

    Beside busy processes more threads make an operator slower, and the recording does not have
    what else ran on the processors.
    """
    threads, rows = recorded_threads(case.trace), _large_products(case.trace)
    if threads is None or threads.processors is None or threads.intra_op == threads.processors:
        return
    rows = rows[case.judged[rows]]
    share = case.share(intervals.length(case.time(rows)))
    if share < MANY_PLACES:
        return
    used, processors = threads.intra_op, threads.processors
    few = used < processors
    yield RuleFinding(
        title=say(
            "torch uses {used} threads on {processors} processors", used=used, processors=processors
        ),
        explanation=say(
            "{share} of the time is in {products:,} products that are large enough for all "
            "processors.",
            share=percent(share),
            products=len(rows),
        )
        if few
        else say(
            "The threads of an operator wait for each other at its end, and one that has no "
            "processor lets all wait."
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "What else ran on the processors is not recorded: on busy ones more threads cost time. "
            "Time the program with {count}.",
            count=processors,
        ),
        source=case.source(rows),
        lacks=case.lacks("stacks"),
    )


def _large_products(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` whose work threads share; none beside an accelerator."""
    if not is_on_host_alone(trace):
        return np.empty(0, np.int64)
    work = operator_work(trace)
    return np.flatnonzero((trace.ops.kind == OPERATOR) & work.matrix & (work.flops >= _LEAST_FLOPS))


RULE = Rule(
    name="torch_threads",
    title=say("Threads that do not fit the processors"),
    cause="device",
    looks_for=say(
        "A recording without a device whose capture noted more or fewer threads of torch than "
        "processors that the process may use, by its affinity, its container and the processes "
        "beside it."
    ),
    why=say(
        "torch divides a large operator among its threads. Containers, schedulers and torchrun "
        "(OMP_NUM_THREADS=1) set other numbers than the program was tuned for."
    ),
    fix=say("Set the threads of torch to the processors that this process has."),
    threshold=say("{least} of the step in large products.", least=exact_percent(MANY_PLACES)),
    reference=say("PyTorch: CPU threading, and OMP_NUM_THREADS of torchrun."),
    code=Code(
        before="# OMP_NUM_THREADS=1",
        after="torch.set_num_threads(len(os.sched_getaffinity(0)))",
    ),
    check=check,
    needs=("operators", "shapes"),
)
