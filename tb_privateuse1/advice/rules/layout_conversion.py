"""Kernels that only change a tensor's memory layout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time, fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.analysis.idioms import permuted_inputs
from tb_privateuse1.analysis.idioms.expanded_copies import repeated
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.idioms.unwritten_copies import unwritten_copies
from tb_privateuse1.analysis.operators import groups, kinds_of_work
from tb_privateuse1.analysis.steps.training_phases import BACKWARD, phase_kinds
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.call_tree import starts_with
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.model import KERNEL, OPERATOR
from tb_privateuse1.trace.table import I64, Bools

_NAMES = r"^aten::(contiguous|clone)$"
_COMPUTE: tuple[kinds_of_work.Kind, ...] = (
    "gemm", "convolution", "attention", "normalization", "recurrent", "pooling", "softmax_loss",
    "elementwise", "reduction", "indexing", "optimizer",
)  # fmt: skip
_KERNELS = r"(?i)nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|transdata|transpose_?kernel"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the kernels below ``contiguous`` or ``clone``, or with such a name."""
    found, copies, more = _conversions(case)
    claim = case.of_device(device_time.shortened(case, found.rows, found.shares))
    if case.share(intervals.length(claim)) < USUAL:
        return
    rows, whole = found.rows, intervals.length(claim)
    most = intervals.length(case.of_device(device_time.shortened(case, more.rows, more.shares)))
    ops = np.unique(case.trace.kernels.op[copies]).astype(np.int64)
    yield RuleFinding(
        title=say("Changing the layout of tensors takes {share} of the time", share=""),
        explanation=say(
            "{kernels:,} kernels compute nothing: they copy a tensor into another order in "
            "memory (contiguous, clone, or between channels first and last).",
            kernels=len(copies),
        ),
        events=len(copies),
        evidence=case.examples("kernels", copies),
        how=say(
            "Their time while others waited for the device, and that of operators that read such "
            "tensors in jumps, beyond the time of their bytes. Some layout changes are needed "
            "once. Upper end: convolutions of tensors in different orders rearrange all of them."
        )
        if most or len(rows) > len(copies)
        else say(
            "Their time while others waited for the device. Some layout changes are needed once."
        ),
        claim=claim,
        removes=device_time.removal_of(case, found),
        most=(whole + most) / max(whole, 1),
        confidence="medium",
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


def _conversions(case: RuleContext) -> tuple[Slow, I64, Slow]:
    """Return the work that goes with the conversions, the copies among it, and what may go."""
    trace, kernels = case.trace, case.trace.kernels
    copied = case.launched_by(case.named("ops", _NAMES))
    copied = copied[kernels.kind[copied] == KERNEL]
    inside = case.around(trace.ops.parent[kernels.op[copied]], _working(case)) >= 0
    copied = permuted_inputs.of_program(trace, copied, inside)
    # Autograd copies the gradient of a view as the next product reads it: no line says so.
    if (case.around(kernels.op[copied], phase_kinds(trace) == BACKWARD) >= 0).all():
        copied = copied[:0]
    rows = np.union1d(copied, case.kernels(_KERNELS))
    rows = rows[~kernels.communication[rows] & ~fusion.in_chains(case)[rows]]
    rows = np.setdiff1d(rows, repeated(trace).rows)
    same = mask_of(unwritten_copies(trace), len(trace.ops))  # these change no layout
    rows = rows[case.around(kernels.op[rows], same) < 0]
    shapes = set(trace.ops.shapes[kernels.op[np.intersect1d(copied, rows)]].tolist())
    if not len(rows):
        return Slow(rows, np.empty(0)), rows, Slow(rows, np.empty(0))
    slow = permuted_inputs.permuted_readers(trace, shapes)
    more = permuted_inputs.rearranging(trace, shapes, np.intersect1d(copied, rows))
    slow = slow.where(case.judged_kernels[slow.rows] & ~np.isin(slow.rows, rows))
    every, shares = np.append(rows, slow.rows), np.append(np.ones(len(rows)), slow.shares)
    order = np.argsort(every, kind="stable")
    return (
        Slow(every[order], shares[order]),
        rows,
        more.where(case.judged_kernels[more.rows]),
    )


def _working(case: RuleContext) -> Bools:
    """Return the operators that compute: what they call is their own affair.

    torch's own of no known kind compute as well, such as solvers, which overwrite a copy.
    """
    kind = groups.name_categories(case.trace)
    work = [kinds_of_work.KINDS.index(one) for one in _COMPUTE]
    is_work = mask_of(np.array(work), len(kinds_of_work.KINDS) + 1)[kind]
    is_work |= (kind == kinds_of_work.KINDS.index("other")) & starts_with(case.trace, "aten::")
    flags: Bools = is_work[case.trace.ops.name] & (case.trace.ops.kind == OPERATOR)
    return flags


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
    remedy="channels_last",
    check=check,
    needs=("work", "operators"),
)
