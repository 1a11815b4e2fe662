"""A convolution bias that the following batch norm cancels."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Code, Rule, RuleFinding, percent
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

_CONVOLUTION, _NORM = r"^aten::conv[123]d$", r"^aten::batch_norm$"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield each ``conv2d`` with a bias if ``batch_norm`` is next on its thread."""
    ops = case.trace.ops
    top = case.top
    top = top[np.lexsort((ops.start_ns[top], ops.thread[top]))]
    first = case.named("ops", _CONVOLUTION)[top[:-1]]
    pair = np.flatnonzero(first & case.named("ops", _NORM)[top[1:]])
    pair = pair[ops.thread[top[pair]] == ops.thread[top[pair + 1]]]
    rows = top[pair]
    rows = rows[_has_bias(case, rows)]
    if not len(rows):
        return
    claim = case.of_device(case.time(_adding(case, rows), "kernels"))
    saves = intervals.length(claim) > 0
    cost = say(": {share} of the time", share=percent(case.share(intervals.length(claim))))
    per_step = len(rows) / len(case.steps)
    yield RuleFinding(
        title=say(
            "{convolutions} a step with a bias before batch norm{cost}",
            convolutions=plural(round(per_step), "convolution"),
            cost=cost if saves else "",
        ),
        explanation=say(
            "{convolutions} with a bias are directly followed by a batch norm, which subtracts "
            "the mean and so the bias. Its gradient is computed as well, and is zero.",
            convolutions=plural(len(rows), "convolution"),
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=(
            say(
                "The kernels that add the bias, while others waited for the device. Its "
                "gradient's are not counted."
            )
            if saves
            else say("Not known: the convolution's own kernel adds the bias.")
        ),
        claim=claim if saves else None,
        removes=case.without(kernels=_adding(case, rows)),
        confidence="high",
        source=case.source(rows),
        lacks=case.lacks("stacks"),
    )


def _has_bias(case: RuleContext, rows: I64) -> Bools:
    ids, index = np.unique(case.trace.ops.shapes[rows], return_inverse=True)
    return np.array([_third(case.trace.text(shapes)) for shapes in ids], np.bool_)[index]


def _third(shapes: str) -> bool:
    try:
        return bool(json.loads(shapes)[2])
    except (ValueError, TypeError, LookupError):
        return False


def _adding(case: RuleContext, rows: I64) -> I64:
    """Return the kernels of ``add_`` inside these operators."""
    ops = case.trace.ops
    is_convolution = np.zeros(len(ops), np.bool_)
    is_convolution[rows] = True
    activities = case.launched_by(is_convolution)
    adds = np.append(case.named("ops", r"^aten::add_?$"), False)
    op = case.trace.kernels.op[activities]
    adding: I64 = activities[adds[np.where(op >= 0, op, NONE)]]
    return adding


RULE = Rule(
    name="bias_before_norm",
    title=say("Bias before batch norm"),
    cause="device",
    looks_for=say("`aten::conv2d` with a bias, directly followed by `aten::batch_norm`."),
    why=say("The bias has no effect on the result, but costs a pass each way and memory."),
    fix=say("Conv2d(…, bias=False) where a batch norm follows."),
    threshold=say("None: it is of no use in any case."),
    reference=say("torch's Conv2dBiasFollowedByBatchNorm2dPattern."),
    code=Code(
        before="nn.Sequential(nn.Conv2d(64, 64, 3), nn.BatchNorm2d(64))",
        after="nn.Sequential(nn.Conv2d(64, 64, 3, bias=False), nn.BatchNorm2d(64))",
    ),
    check=check,
    needs=("operators", "shapes"),
)
