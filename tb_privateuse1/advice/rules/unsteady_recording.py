"""Recordings of start-up, compilation or graph capture, with no steady step to judge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding
from tb_privateuse1.analysis.recording.phases import phases
from tb_privateuse1.analysis.recording.summary import summary
from tb_privateuse1.i18n import say

_TITLES = {
    "startup": say("Recording of start-up: no steady step"),
    "compilation": say("Recording of compilation: no steady step"),
    "capture": say("Recording of a graph capture: no steady step"),
}


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the kind of a recording without a steady part, and what to record instead."""
    found = summary(case.trace)
    if found.kind not in _TITLES:
        return
    proof = next(phase for phase in phases(case.trace) if phase.kind == found.kind)
    rows = np.array(proof.rows, np.int64)
    yield RuleFinding(
        title=_TITLES[found.kind],
        explanation=found.sentence,
        events=len(rows),
        evidence=case.examples(proof.table, rows) if proof.table else (),
        how=say("None: time that passes once says nothing about the steps that follow."),
        confidence="high",
        urgent=True,
    )


RULE = Rule(
    name="unsteady_recording",
    title=say("Nothing steady was recorded"),
    cause="recording",
    looks_for=say(
        "First calls that load and initialize, compilers, or a graph's capture, and no step "
        "without them."
    ),
    why=say("First steps do work that later steps do not. Advice on it would fix what passes."),
    fix=say(
        "Record N steps after warm-up: schedule(wait=5, warmup=2, active=3) and prof.step() after "
        "each step. In a server, start the profiler after the first requests."
    ),
    threshold=say("A tenth of every step: then no step is like those that follow."),
    reference=say("PyTorch, torch.profiler.schedule: skip the first steps."),
    code=Code(
        before=("with profile() as prof:\n    train()"),
        after=(
            "with profile(schedule=schedule(wait=5, warmup=2, active=3)) as prof:\n"
            "    for batch in loader:\n"
            "        train(batch)\n"
            "        prof.step()"
        ),
    ),
    check=check,
    reads_all=True,
)
