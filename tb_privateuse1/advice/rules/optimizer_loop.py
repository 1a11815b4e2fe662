"""An optimizer that updates parameters one by one instead of with foreach or fused kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms import optimizers
from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.operators import groups
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.steps.training_phases import BACKWARD, phase_kinds
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.call_tree import self_or_nearest, starts_with
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.model import OPERATOR
from tb_privateuse1.trace.table import I64, Bools

_STEP = r"^Optimizer\.step#(?!.*[Ff]used)"
"""A fused optimizer has a reason for its remaining operators per parameter."""

_TOGETHER = r"^aten::_(foreach|fused)_"
_COUNT, _POWER = "aten::_foreach_add_", "aten::_foreach_pow"
_NO_TENSOR = re.compile(r'\[("(TensorList|Scalar|ScalarList|)",?)*\]')
"""The types of a call without an input that is a tensor of its own."""
_MANY = 30
"""Operators of a step: below, a model of a few tensors has nothing to merge."""
_ROUNDS = 8
"""Groups for each setting: as many rounds as a loop over parameters has (``parameter_loops``)."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the operators directly inside ``Optimizer.step`` if none takes many tensors.

    Nor may one of them compute what no for-each operator does.
    """
    ops, steps = case.trace.ops, case.ops(_STEP)
    is_step = mask_of(steps, len(ops))
    children = _children(case, is_step)
    if not len(steps) or len(children) < _MANY * len(steps):
        return
    together = case.named("ops", _TOGETHER)[children]
    if together.any():
        yield from _groups(case, steps, children[together])
        return
    if _without_for_each(case)[children].any():
        return
    kinds = len(np.unique(ops.name[children]))
    removed = 1 - kinds * len(steps) / len(children)
    fused, most = _fused(case, is_step)
    claim, greatest = (_claim(case, steps, removed, one) for one in (fused, most))
    if claim is not None and case.share(intervals.length(claim)) < ONE_PLACE:
        return
    per_step = len(children) / max(len(case.steps), 1)
    yield RuleFinding(
        title=say(
            "{name} updates one parameter after the other: {each:,.0f} operators {per_step}",
            name=_name(case, children),
            each=per_step,
            per_step=case.per_step,
        ),
        explanation=say(
            "The optimizer calls {each:,.0f} operators of {kinds} kinds {per_step}, one for "
            "each parameter and kind. For-each kernels do the same with a call per kind.",
            each=per_step,
            kinds=kinds,
            per_step=case.per_step,
        ),
        events=len(children),
        evidence=case.examples("ops", steps),
        how=say(
            "The optimizer's host time while the device had nothing to do or waited between its "
            "activities, and the idle time behind it that an earlier host would fill, less {kinds} "
            "of {each:,.0f} calls ({share}); and the device's time beyond one pass over "
            "parameters, gradients and state, while others waited for it.",
            kinds=kinds,
            each=per_step,
            share=percent(removed),
        ),
        claim=claim,
        removes=case.without(
            ops=steps, share=removed, kernels=fused.rows, kernel_share=fused.shares
        ),
        most=_times(claim, greatest),
        confidence="high",
        source=case.source(steps),
        lacks=case.lacks("device"),
    )


def _groups(case: RuleContext, steps: I64, calls: I64) -> Iterator[RuleFinding]:
    """Yield an optimizer that calls for-each operators group by group, with equal settings.

    Numbers that a call takes, such as a rate and a decay, are recorded beside the shapes. Without
    them a group for each parameter is found, whose settings may still differ.
    """
    known = "shapes" in case.has
    groups_of, settings = _counted(case, calls)
    if groups_of < _ROUNDS * settings:
        return
    removed = 1 - settings / groups_of
    nothing = Slow(np.empty(0, np.int64), np.empty(0))
    claim = _claim(case, steps, removed, nothing)
    if claim is not None and case.share(intervals.length(claim)) < ONE_PLACE:
        return
    yield RuleFinding(
        title=say(
            "{name} updates {groups:,} groups of parameters one after the other",
            name=_name(case, calls),
            groups=groups_of,
        ),
        explanation=say(
            "A step calls the same for-each operators for each group. The groups have "
            "{settings:,} different settings together (rates, decays, and so on), by the numbers "
            "that the calls take.",
            settings=settings,
        )
        if known
        else say(
            "A step calls the same for-each operators for each group, and has a group for each "
            "gradient. Whether their settings differ (rates, decays, and so on) was not recorded."
        ),
        events=len(calls),
        evidence=case.examples("ops", calls),
        how=say(
            "The optimizer's host time while the device had nothing to do or waited between its "
            "activities, and the idle time behind it that an earlier host would fill, as far as "
            "groups of equal settings are joined ({share}).",
            share=percent(removed),
        ),
        claim=claim,
        removes=case.without(ops=steps, share=removed),
        may_vanish=not known,
        least=1.0 if known else 0.0,
        confidence="medium" if known else "low",
        source=case.source(steps),
        lacks=case.lacks("device"),
        fix=_JOIN,
        code=_JOINED,
        by_remedy=False,
    )


def _counted(case: RuleContext, calls: I64) -> tuple[int, int]:
    """Return the groups of a step, and their settings; 0 and 1 where these are not known.

    Without shapes a single setting is possible where a group has one parameter.

    The rarest operator is called once for each group. The operator whose numbers take the most
    values, less those of one group, has a value for each setting.
    """
    ops = case.trace.ops
    first, kind = groupby.group_rows(ops.parent[calls], ops.name[calls])
    count = np.bincount(kind)
    steps, step = groupby.group_rows(ops.parent[calls[first]])
    groups_of = groupby.minima(step, count, len(steps))
    typical = int(np.median(groups_of))
    if "shapes" not in case.has:
        found = accumulations(case.trace)
        each = len(found.op) / max(len(found.passes.backward_ns), 1)
        return typical if 0 < each <= typical else 0, 1
    if (ops.concrete[calls] < 0).any() or _has_rates_in_tensors(case, calls):
        return 0, 1
    different, _ = groupby.group_rows(kind, ops.concrete[calls])
    values = np.bincount(kind[different], minlength=len(first))
    settings = np.ceil(values * groups_of[step] / count).max()
    return typical, max(int(settings), 1)


def _has_rates_in_tensors(case: RuleContext, calls: I64) -> bool:
    """Return whether a tensor may hold a rate: its value is not recorded.

    The counts of steps are raised by a tensor as well. With ``capturable`` rates are in lists:
    torch's foreach optimizers raise their decays to a power on the device then (``adamw.py``).
    """
    trace, ops = case.trace, case.trace.ops
    first, _ = groupby.group_rows(ops.name[calls], ops.dtypes[calls])
    for row in calls[first].tolist():
        name, types = trace.text(ops.name[row]), trace.text(ops.dtypes[row])
        if name == _POWER or (name != _COUNT and not _NO_TENSOR.fullmatch(types)):
            return True
    return False


_JOIN = say(
    "Give the optimizer one group for each setting: the weights with decay, those without. Where "
    "each parameter has to have a rate of its own, its group stays."
)
_JOINED = Code(
    before='groups = [{"params": [p], "weight_decay": decay_of(p)} for p in parameters]',
    after=(
        "groups = [\n"
        '    {"params": [p for p in parameters if decay_of(p) == decay], '
        '"weight_decay": decay}\n'
        "    for decay in {decay_of(p) for p in parameters}\n"
        "]"
    ),
)


def _claim(case: RuleContext, steps: I64, removed: float, fused: Slow) -> intervals.Set | None:
    """Return the time that goes with a share of the host's calls, and with those of activities."""
    spent = case.time(steps)
    host = case.of_host(spent)
    if host is None:
        return None
    host = intervals.merge(host, _before_launches(case, steps, spent))
    later = device_time.idle_after(case, spent, removed)
    freed = intervals.merge(device_bound.shorten(host, removed), later)
    return intervals.merge(freed, device_time.claim_of(case, fused))


def _times(claim: intervals.Set | None, greatest: intervals.Set | None) -> float:
    """Return how many times as long the greatest claim is."""
    likely = intervals.length(claim or intervals.EMPTY)
    return intervals.length(greatest or intervals.EMPTY) / likely if likely else 1.0


def _children(case: RuleContext, is_step: Bools) -> I64:
    """Return the operators directly inside, without those of a model that a closure runs."""
    ops = case.trace.ops
    inside = (ops.kind == OPERATOR) & is_step[ops.parent] & (ops.parent >= 0)
    of_model = (ops.sequence >= 0) | (phase_kinds(case.trace) == BACKWARD)
    return np.flatnonzero(inside & ~of_model)


def _without_for_each(case: RuleContext) -> Bools:
    """Return torch's operators that no for-each operator stands for, such as products.

    Sparse gradients need such ones, as do a line search and updates by whole matrices.
    """
    kind = groups.name_categories(case.trace)
    others = (kind == KINDS.index("other")) & starts_with(case.trace, "aten::")
    found: Bools = ((kind == KINDS.index("gemm")) | others)[case.trace.ops.name]
    return found


def _name(case: RuleContext, children: I64) -> str:
    """Return the optimizer that calls most of these operators: one may call others."""
    ops = case.trace.ops
    calls = np.bincount(ops.name[ops.parent[children]])
    name = case.trace.text(int(np.argmax(calls))).removeprefix("Optimizer.step#")
    return name.removesuffix(".step")


def _fused(case: RuleContext, is_step: Bools) -> tuple[Slow, Slow]:
    """Return the updates' activities with the share that one fused pass saves, and the greatest."""
    inside = self_or_nearest(case.trace.ops.parent, is_step) >= 0
    found = optimizers.updates(case.trace, inside & case.judged)
    if found is None:
        nothing = Slow(np.empty(0, np.int64), np.empty(0))
        return nothing, nothing
    rows = found.kernels
    likely, most = (Slow(rows, np.full(len(rows), one)) for one in (found.share, found.most))
    return likely, most


def _before_launches(case: RuleContext, steps: I64, spent: intervals.Set) -> intervals.Set:
    """Return the device's idle time in the optimizer before its own activities.

    They are launched by then, one at a time: each has a start-up, or a launch that waits for it.
    """
    is_step = np.zeros(len(case.trace.ops), np.bool_)
    is_step[steps] = True
    own = case.trace.kernels.launch < 0  # nobody knows who launched these
    own[case.launched_by(is_step)] = True
    return intervals.intersect(device_time.gaps_before(case, own), spent)


RULE = Rule(
    name="optimizer_loop",
    title=say("Optimizer in a loop over parameters"),
    cause="launching",
    looks_for=say(
        "Optimizer.step with many operators directly inside and neither _foreach_ nor "
        "_fused_ among them, nor what no for-each operator computes: products, sparse gradients. "
        "Or {rounds} times as many groups of parameters as these have different settings.",
        rounds=_ROUNDS,
    ),
    why=say("A model has hundreds of parameters, most of them small: the host is busy launching."),
    fix=say(
        "Pass fused=True where the backend has the kernel, else foreach=True, to the optimizer. "
        "Only fused=True saves passes over memory as well."
    ),
    threshold=say(
        "{many} operators a step and {least} of it: below that there is nothing to merge.",
        many=_MANY,
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch's OptimizerSingleTensorPattern."),
    code=Code(
        before="torch.optim.AdamW(model.parameters(), foreach=False)",
        after="torch.optim.AdamW(model.parameters(), fused=True)",
    ),
    remedy="fused_optimizer",
    check=check,
    needs=("operators",),
    partly=("shapes",),
)
