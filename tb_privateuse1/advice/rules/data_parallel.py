"""DataParallel: one process drives several devices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals

_OPS = r"^(Broadcast|ReduceAddCoalesced|Scatter|Gather)(Backward)?$"
_FRAMES = r"torch/nn/parallel/data_parallel\.py|^nn\.Module: DataParallel_"
_LEAST = 0.005


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield its functions or frames in a trace with several devices."""
    lanes = case.trace.lanes
    used = np.unique(lanes.device[np.unique(case.trace.kernels.lane)])
    if len(used) < _FEW:
        return
    rows = case.outermost(case.ops(_OPS))
    framed = np.flatnonzero(case.named("frames", _FRAMES)) if len(case.trace.frames) else rows[:0]
    if not len(rows) and not len(framed):
        return
    is_parallel = np.zeros(len(case.trace.ops), np.bool_)
    is_parallel[rows] = True
    device = case.of_device(case.time(case.launched_by(is_parallel), "kernels"))
    claim = intervals.merge(device, case.of_host(case.time(rows)) or intervals.EMPTY)
    if len(rows) and case.share(intervals.length(claim)) < _LEAST:
        return
    cost = say(": {share} of the time", share=percent(case.share(intervals.length(claim))))
    yield RuleFinding(
        title=say(
            "DataParallel feeds {devices} devices from one process{cost}",
            devices=len(used),
            cost=cost if len(rows) else "",
        ),
        explanation=say(
            "In every step the model is copied to all devices, the batch is scattered and "
            "results are gathered, and one Python process launches for all of them."
        ),
        events=len(rows) or len(framed),
        evidence=case.examples("ops", rows) or case.examples("frames", framed),
        how=(
            say(
                "Time of these copies while others waited for the device, and of their operators "
                "while no device had anything to do."
            )
            if len(rows)
            else say("The trace does not tell its parts.")
        ),
        claim=claim if len(rows) else None,
        removes=case.without(ops=rows, kernels=case.launched_by(is_parallel)),
        confidence="high",
        source=case.source(rows),
    )


_FEW = 2

RULE = Rule(
    name="data_parallel",
    title=say("DataParallel"),
    cause="communication",
    looks_for=say(
        "`Broadcast`, `Scatter`, `Gather` of DataParallel and several devices in one trace."
    ),
    why=say("One interpreter launches for all devices, and the model is copied every time."),
    fix=say("DistributedDataParallel with a process for each device (torchrun)."),
    threshold=say("Two devices and {least} of the step.", least=exact_percent(_LEAST)),
    reference=say(
        "torch-tb-profiler: DataParallel used; torch's documentation advises against it."
    ),
    code=Code(
        before="model = nn.DataParallel(model)",
        after=(
            "# torchrun --nproc-per-node=8 train.py\n"
            "dist.init_process_group()\n"
            "model = DistributedDataParallel(model.to(local_rank))"
        ),
    ),
    check=check,
    needs=("device", "operators"),
)
