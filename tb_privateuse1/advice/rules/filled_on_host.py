"""Tensors created on the host and then copied to the device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MEMCPY

_FACTORIES = (
    r"^aten::(zeros|ones|full|rand|randn|randint|arange|linspace|eye|tensor|zeros_like|ones_like"
    r"|full_like|rand_like|randn_like|normal|bernoulli)$"
)
_MOVES = r"^aten::to$"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield factory calls that launch nothing and whose next operator copies to the device."""
    ops, kernels = case.trace.ops, case.trace.kernels
    top = case.top
    order = top[np.lexsort((ops.start_ns[top], ops.thread[top]))]
    factory, move = case.named("ops", _FACTORIES), case.named("ops", _MOVES)
    follows = ops.thread[order[1:]] == ops.thread[order[:-1]]
    pair = np.flatnonzero(factory[order[:-1]] & move[order[1:]] & follows)
    if not len(pair):
        return
    factories, moved = order[pair], order[pair + 1]
    is_either = np.zeros(len(ops), np.bool_)
    is_either[factories], is_either[moved] = True, True
    rows = case.launched_by(is_either)
    holder = case.around(kernels.op[rows], is_either)
    on_device = np.isin(factories, holder[kernels.kind[rows] != MEMCPY])
    copied = np.isin(moved, holder[kernels.kind[rows] == MEMCPY])
    factories, moved = factories[copied & ~on_device], moved[copied & ~on_device]
    copies = rows[np.isin(holder, moved)]
    both_ops = np.concatenate((factories, moved))
    host = case.of_host(case.time(both_ops))
    claim = intervals.merge(host or intervals.EMPTY, case.of_device(case.time(copies, "kernels")))
    if not len(moved) or case.share(intervals.length(claim)) < NOISE:
        return
    names = sorted({case.trace.text(name) for name in ops.name[factories]})
    yield RuleFinding(
        title=say(
            "Tensors are filled on the host and copied: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{tensors:,} tensors were made by {names} on the host, and the next operator "
            "copied them to the device, which can fill them itself.",
            tensors=len(moved),
            names=join_list(names[:4]),
        ),
        events=len(moved),
        evidence=case.examples("ops", moved),
        how=say(
            "Time of both operators while the device had nothing to do, and of the copies "
            "while others waited for the device."
        ),
        claim=claim,
        removes=case.without(ops=both_ops, kernels=copies, waits=case.waits_in(is_either)),
        confidence="medium",
        source=case.source(moved),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="filled_on_host",
    title=say("Filled on the host, then copied"),
    cause="launching",
    looks_for=say(
        "aten::zeros, randn, … without a kernel, directly followed by aten::to with a copy "
        "to the device."
    ),
    why=say("Filling on the device costs one launch; this costs host time, a copy, often a wait."),
    fix=say("Pass device=… to the factory: torch.zeros(n, device=x.device)."),
    threshold=say("{least} of the step: one argument fixes it.", least=exact_percent(NOISE)),
    reference=say("torch's ExtraCUDACopyPattern."),
    code=Code(
        before="mask = torch.zeros(n, n).to(x.device)",
        after="mask = torch.zeros(n, n, device=x.device)",
    ),
    check=check,
    needs=("device", "operators", "links"),
)
