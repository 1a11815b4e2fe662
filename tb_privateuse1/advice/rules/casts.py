"""Kernels that only convert a tensor to another data type."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.awaited_results import held_reads
from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES, ONE_PLACE
from tb_privateuse1.analysis.idioms.accumulations import ACCUMULATE, accumulations
from tb_privateuse1.analysis.idioms.number_types import Scaling, needless_scaling
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.call_tree import forward_of
from tb_privateuse1.trace.columns import following, lookup, mask_of
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.model import KERNEL, NONE
from tb_privateuse1.trace.table import Bools

_BACK = re.compile(r": ToCopyBackward\d*$")
"""Autograd's name for the gradient of a cast."""
_COMPLEX = "complex"
"""In torch's names of complex types, such as ``c10::complex<float>``."""
_WHOLE = tuple(f'["{name}"' for name in ("bool", "unsigned char", "int", "long int"))
"""The beginning of the types of a call whose first tensor is a mask or has whole numbers."""
_FORMULA = r"^autograd::engine::evaluate_function: (?!ToCopyBackward)\w+Backward\d+$"
"""A node of torch's own: those of the program's functions have no number."""
_NAMES = r"^aten::_to_copy$|^aten::_autocast_to_"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the conversions, and the scaling of gradients that no type needs."""
    yield from _conversions(case)
    scaling = needless_scaling(case.trace, case.top_in_order)
    if scaling is not None and scaling.updates:
        yield from _of_scaling(case, scaling)


def _of_scaling(case: RuleContext, scaling: Scaling) -> Iterator[RuleFinding]:
    """Yield the calls of a scaler, with the wait for its answer."""
    wanted, reads = (mask_of(rows, len(case.trace.ops)) for rows in (scaling.rows, scaling.reads))
    waits = case.waits_in(reads)
    waits = waits[~held_reads(case, waits)]
    gone = remove(case, Needless(scaling.rows, np.ones(len(scaling.rows))))
    claim = intervals.merge(gone.claim, case.idle_by_waits(waits))
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    yield RuleFinding(
        title=say(
            "Gradients are scaled though products are in bfloat16: {share} of the time", share=""
        ),
        explanation=say(
            "{calls} of a GradScaler check and scale all gradients. Its answer decides whether the "
            "optimizer runs: {waits}. bfloat16 reaches as far as float32, and no tensor in float16 "
            "is recorded.",
            calls=plural(len(scaling.rows), "call"),
            waits=plural(len(waits), "wait"),
        ),
        events=len(scaling.rows),
        evidence=case.examples("ops", scaling.rows),
        how=say(
            "The time of these calls, and after each wait for the answer the time in which the "
            "device had nothing to do, at most as long as the wait."
        ),
        claim=claim,
        removes=case.without(
            ops=scaling.rows, instants=gone.gaps, kernels=case.launched_by(wanted), waits=waits
        ),
        confidence="medium",
        fix=say(
            "Remove the scaler, or pass enabled=False. Then an update with infinite gradients is "
            "no longer skipped: in bfloat16 they come only where float32 has them, too."
        ),
        code=Code(
            before="scaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()",
            after="loss.backward()\noptimizer.step()",
        ),
        source=case.source(scaling.rows),
        lacks=case.lacks("stacks"),
    )


def _conversions(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the kernels below ``to``, but for weights in training.

    A copy between devices is not a kernel.
    """
    kernels = case.trace.kernels
    rows = case.launched_by(case.named("ops", _NAMES))
    rows = rows[(kernels.kind[rows] == KERNEL) & ~kernels.communication[rows]]
    rows = rows[~case.named("kernels", r"(?i)memcpy|memset|HtoD|DtoH|copy_from")[rows]]
    rows = rows[~fusion.in_chains(case)[rows]]
    if case.share(intervals.length(case.of_device(case.time(rows, "kernels")))) < MANY_PLACES:
        return  # before what takes longer to tell
    needed = _of_weights(case) | _of_complex(case) | _of_formulas(case)
    rows = rows[case.around(kernels.op[rows], needed) < 0]
    claim = case.of_device(case.time(rows, "kernels"))
    if case.share(intervals.length(claim)) < MANY_PLACES:
        return
    ops = np.unique(kernels.op[rows]).astype(np.int64)
    yield RuleFinding(
        title=say(
            "Conversions between types take {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{kernels:,} kernels only convert tensors, such as weights that autocast makes "
            "half precision in every step.",
            kernels=len(rows),
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say("Their time while others waited for the device."),
        claim=claim,
        removes=case.without(kernels=rows),
        confidence="medium",
        source=case.source(ops),
        lacks=case.lacks("stacks", "shapes"),
    )


def _of_weights(case: RuleContext) -> Bools:
    """Return the operators that cast a weight which is trained, and its gradient back.

    Autograd adds such a gradient to a parameter as soon as it is cast. The optimizer then changes
    the weight: with a master copy it would write the narrow weights instead.
    """
    trace, found = case.trace, accumulations(case.trace)
    needed = np.zeros(len(trace.ops), np.bool_)
    nodes = found.engine
    nodes = nodes[np.lexsort((trace.ops.start_ns[nodes], trace.ops.thread[nodes]))]
    casts = named_rows(trace.strings, trace.ops.name[nodes], _BACK.search)
    adds = named_rows(trace.strings, trace.ops.name[nodes], lambda name: ACCUMULATE in name)
    same = following(trace.ops.thread[nodes], NONE) == trace.ops.thread[nodes]
    casts = nodes[casts & following(adds, False) & same]
    forward = forward_of(trace)[casts]
    forward = case.around(forward[forward >= 0], case.named("ops", _NAMES))
    needed[casts] = True
    needed[forward[forward >= 0]] = True
    return needed


def _of_complex(case: RuleContext) -> Bools:
    """Return the operators with a complex input: a real tensor beside it has to become complex."""
    trace = case.trace
    return named_rows(trace.strings, trace.ops.dtypes, lambda types: _COMPLEX in types)


def _of_formulas(case: RuleContext) -> Bools:
    """Return the casts of masks and counts that torch's own formula of a gradient makes.

    The gradient of a greatest element is spread by a product with a mask, which no program writes.
    A frame between is that of a recomputed part or of a hook: such a cast is the program's.
    """
    trace, ops = case.trace, case.trace.ops
    whole = named_rows(trace.strings, ops.dtypes, lambda types: types.startswith(_WHOLE))
    casts = np.flatnonzero(case.named("ops", _NAMES) & whole)
    node = case.around(casts, case.named("ops", _FORMULA))
    casts, node = casts[node >= 0], node[node >= 0]
    own = lookup(trace.frames.start_ns, ops.frame[casts], -1) < ops.start_ns[node]
    found = np.zeros(len(ops), np.bool_)
    found[casts[own]] = True
    return found


RULE = Rule(
    name="casts",
    title=say("Conversions between types"),
    cause="device",
    looks_for=say(
        "Kernels launched below aten::_to_copy that are no copies between host and device. Not "
        "those of weights in training, which have changed since, nor those of masks in torch's own "
        "formulas of gradients. And the calls of a GradScaler where products are in bfloat16 and "
        "no tensor is in float16 or float8."
    ),
    why=say("They read and write all of a tensor and compute nothing."),
    fix=say(
        "Keep weights and inputs in the type that is computed with (model.bfloat16() with a "
        "master copy in the optimizer), leave autocast's weight cache on, and avoid .float() in "
        "the forward pass. Write one-hot rows in the type that is read: "
        "torch.zeros(rows, classes).scatter_(1, index, 1.0)."
    ),
    threshold=say(
        "{least} of the step: mixed precision needs a few.", least=exact_percent(MANY_PLACES)
    ),
    reference=say("PyTorch automatic mixed precision."),
    code=Code(
        before="y = self.linear(x.float()).bfloat16()",
        after=("model = model.bfloat16()\ny = self.linear(x)"),
    ),
    check=check,
    needs=("work", "operators", "links"),
)
