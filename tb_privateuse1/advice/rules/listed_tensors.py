"""Tensors made from lists of Python in each step."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.listed_tensors import listed_tensors
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the reading of lists by ``torch.tensor``, where the host is late or is the device."""
    made = listed_tensors(case.trace)
    rows = made.rows[case.judged[made.rows]]
    if not len(rows):
        return
    calls = made.calls()
    claim = case.of_host(intervals.intersect(calls, case.window))
    if claim is None or case.share(intervals.length(claim)) < ONE_PLACE:
        return
    yield RuleFinding(
        title=say(
            "{tensors} {per_step} made from lists of Python: {share} of the time",
            tensors=plural(round(len(rows) / max(len(case.steps), 1)), "tensor"),
            share="",
            per_step=case.per_step,
        ),
        explanation=say(
            "torch.tensor reads a list one Python object after the other, and asks each one for "
            "its type and its value. An array or a tensor is copied as a block."
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say("The time of torch.tensor: that of its frame, or else of its operators."),
        claim=claim,
        removes=case.without(instants=calls),
        confidence="medium",
        source=case.source(rows),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="listed_tensors",
    title=say("Tensors from lists"),
    cause="launching",
    looks_for=say(
        "aten::empty, aten::to and aten::lift_fresh in turn, with time between the first two: so "
        "torch.tensor makes a tensor of a list."
    ),
    why=say("Each number of a list takes tens of nanoseconds, where copying it takes one."),
    fix=say(
        "Keep data as tensors or arrays: convert once when it is loaded, torch.from_numpy for "
        "arrays, slices of one tensor for rows of a batch, one tensor with offsets for rows of any "
        "length. NumPy reads a list that is new in each step about five times as fast: "
        "torch.from_numpy(np.array(rows))."
    ),
    threshold=say("{least} of the step.", least=exact_percent(ONE_PLACE)),
    reference=say("torch.from_numpy and torch.as_tensor share memory with an array."),
    code=Code(
        before="batch = torch.stack([torch.tensor(row) for row in rows])",
        after="table = torch.tensor(rows)  # once\nbatch = table[begin:end]",
    ),
    check=check,
    needs=("operators",),
    partly=("shapes",),
)
