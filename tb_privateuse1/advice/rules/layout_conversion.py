"""Kernels that only change a tensor's memory layout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.analysis.idioms.expanded_copies import repeated
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import KERNEL

_NAMES = r"^aten::(contiguous|clone)$"
_KERNELS = r"(?i)nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|transdata|transpose_?kernel"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the kernels below ``contiguous`` or ``clone``, or with such a name."""
    kernels = case.trace.kernels
    copied = case.launched_by(case.named("ops", _NAMES))
    copied = copied[kernels.kind[copied] == KERNEL]
    rows = np.union1d(copied, case.kernels(_KERNELS))
    rows = rows[~kernels.communication[rows]]
    rows = rows[~fusion.in_chains(case)[rows]]
    rows = np.setdiff1d(rows, repeated(case.trace).rows)
    claim = case.of_device(case.time(rows, "kernels"))
    if case.share(intervals.length(claim)) < USUAL:
        return
    ops = np.unique(kernels.op[rows]).astype(np.int64)
    yield RuleFinding(
        title=say(
            "Changing the layout of tensors takes {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{kernels:,} kernels compute nothing: they copy a tensor into another order in "
            "memory (contiguous, clone, or between channels first and last).",
            kernels=len(rows),
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say(
            "Their time while others waited for the device. Some layout changes are needed once."
        ),
        claim=claim,
        removes=case.without(kernels=rows),
        confidence="medium",
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="layout_conversion",
    title=say("Layout conversions"),
    cause="device",
    looks_for=say(
        "Kernels launched below aten::contiguous or aten::clone, and transposing kernels."
    ),
    why=say("They read and write all of a tensor for nothing new."),
    fix=say(
        "Keep one layout: model.to(memory_format=torch.channels_last) together with its input; "
        "arrange dimensions once outside of the loop; drop .contiguous() where the next operator "
        "takes strides."
    ),
    threshold=say("{least} of the step: a few are in every model.", least=exact_percent(USUAL)),
    reference=say("PyTorch tutorial on channels last; msprof-analyze TransData."),
    code=Code(
        before="model(images.contiguous())",
        after=(
            "model = model.to(memory_format=torch.channels_last)\n"
            "model(images.to(memory_format=torch.channels_last))"
        ),
    ),
    check=check,
    needs=("work", "operators"),
)
