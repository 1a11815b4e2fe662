"""Autograd's anomaly detection: each gradient is checked, and each forward call keeps its stack."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import OPERATOR
from tb_privateuse1.trace.table import I64

_AUTOGRAD = r"^autograd::engine::evaluate_function: "
_LEAF = r"^autograd::engine::evaluate_function: torch::autograd::AccumulateGrad$"
"""A node without results: there is nothing to check."""
_CHECK = (r"^aten::isnan$", r"^aten::(_is_any_true|any)$", r"^aten::item$")
"""The check of one gradient, in turn (call_function in torch/csrc/autograd/engine.cpp)."""
_STACK = r"(^|/)traceback\.py(\(\d+\))?: format_stack$"
"""The frame of a kept stack (PyAnomalyMetadata::store_stack): the operator itself calls it."""
_MOST, _MANY = 0.9, 10
"""Share of the nodes that are checked, and nodes: a program's own hooks check some."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the checks and the kept stacks if nearly all nodes of the backward pass are checked."""
    ops, frames = case.trace.ops, case.trace.frames
    checks = _checks(case)
    if not len(checks):
        return
    goes = np.zeros(len(ops), np.bool_)
    goes[checks] = True
    first, last, stacks = checks[:, 0], checks[:, -1], _stacks(case)
    spent = intervals.union(
        np.append(ops.start_ns[first], frames.start_ns[stacks]),
        np.append(ops.end_ns[last], frames.end_ns[stacks]),
    )
    kernels, waits = case.launched_by(goes), case.waits_in(goes)
    host = intervals.merge(case.of_host(spent) or intervals.EMPTY, case.idle_by_waits(waits))
    claim = intervals.merge(case.of_device(case.time(kernels, "kernels")), host)
    if case.share(intervals.length(claim)) < NOISE:
        return
    kept = plural(len(stacks), "stack") if len(stacks) else say("their time is not recorded")
    yield RuleFinding(
        title=say("Autograd's anomaly detection is on: {share} of the time", share=""),
        explanation=say(
            "Behind nearly every node of the backward pass, autograd checks its gradients for NaN "
            "({checks}) and waits for each answer. In the forward pass, each call that has a "
            "gradient keeps its Python stack as text ({stacks}).",
            checks=plural(len(checks), "check"),
            stacks=kept,
        ),
        events=len(checks) + len(stacks),
        evidence=case.examples("ops", first),
        how=say("The checks, the waits for their answers, and the stacks where they are recorded."),
        claim=claim,
        removes=case.without(instants=spent, kernels=kernels, waits=waits),
        most=1.0 if len(stacks) else _most(case, spent),
        confidence="high" if len(stacks) else "low",
        source=case.source(first),
        lacks=case.lacks("stacks"),
    )


def _checks(case: RuleContext) -> I64:
    """Return the operators of each check, [checks, 3]; none if few nodes are checked.

    A node checks what it returned: its own operator comes first. Hooks of tensors run before it,
    and a hook has a frame.
    """
    ops, frames = case.trace.ops, case.trace.frames
    is_node = case.named("ops", _AUTOGRAD) & ~case.named("ops", _LEAF) & case.judged
    rows = np.flatnonzero(np.append(is_node, False)[ops.parent])
    node = ops.parent[rows].astype(np.int64)
    nodes = groupby.distinct_values(node)
    if len(nodes) < _MANY:
        return np.empty((0, len(_CHECK)), np.int64)
    at = np.arange(1, len(rows) - len(_CHECK) + 1)
    is_check = node[at - 1] == node[at + len(_CHECK) - 1]
    for place, name in enumerate(_CHECK):
        is_check &= case.named("ops", name)[rows[at + place]]
    frame = ops.frame[rows[at]]
    is_check &= lookup(frames.start_ns, frame, -1) < ops.start_ns[node[at]]
    begin = at[is_check]
    is_own = ~case.named("ops", _CHECK[0])[rows[np.searchsorted(node, node[begin])]]
    begin = begin[is_own]
    if len(groupby.distinct_values(node[begin])) < _MOST * len(nodes):
        return np.empty((0, len(_CHECK)), np.int64)
    checks: I64 = rows[begin[:, None] + np.arange(len(_CHECK))]
    return checks


def _stacks(case: RuleContext) -> I64:
    """Return the judged frames that keep a stack: no frame lies between them and an operator."""
    ops, frames = case.trace.ops, case.trace.frames
    rows = np.flatnonzero(case.named("frames", _STACK) & (frames.op >= 0))
    op = frames.op[rows].astype(np.int64)
    keeps = case.judged[op] & (ops.kind[op] == OPERATOR)
    keeps &= lookup(frames.start_ns, frames.parent[rows], -1) < ops.start_ns[op]
    found: I64 = rows[keeps]
    return found


def _most(case: RuleContext, checks: intervals.Set) -> float:
    """Return how many times the checks it may be: forward calls keep stacks in their own time."""
    ops = case.trace.ops
    is_forward = case.judged & (ops.sequence >= 0) & (ops.kind == OPERATOR)
    rows = np.flatnonzero(is_forward & ~case.named("ops", _BACKWARD))
    rows = rows[case.around(rows, case.named("ops", _AUTOGRAD)) < 0]
    known = max(intervals.length(checks), 1)
    return 1 + float(ops.self_ns[rows].sum()) / known


_BACKWARD = r"^(autograd::|torch::autograd::)|Backward\d*$"

RULE = Rule(
    name="anomaly_detection",
    title=say("Autograd's anomaly detection"),
    cause="launching",
    looks_for=say(
        "aten::isnan, any and item in turn behind nine in ten nodes of the backward pass, without "
        "a frame of the program between; and format_stack called by operators."
    ),
    why=say("A mode of debugging: no gradient passes unread, and no forward call without a stack."),
    fix=say(
        "Remove torch.autograd.set_detect_anomaly(True), or a trainer's option detect_anomaly. "
        "Turn it on only to look for a NaN that is known."
    ),
    threshold=say(
        "Nine in ten of {many} nodes, and {least} of the step: one argument fixes it.",
        many=_MANY,
        least=exact_percent(NOISE),
    ),
    reference=say("PyTorch performance tuning guide, disable debugging APIs."),
    code=Code(
        before="torch.autograd.set_detect_anomaly(True)",
        after="torch.autograd.set_detect_anomaly(False)",
    ),
    remedy="no_anomaly_detection",
    check=check,
    needs=("operators",),
)
