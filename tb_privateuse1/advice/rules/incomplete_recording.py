"""Data that rules need and the profile does not have."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rules.base import Need, Rule, RuleContext, RuleFinding, join_list, say

_ASKED: dict[Need, str] = {
    "steps": say("two or more steps"),
    "shapes": say("input shapes"),
    "stacks": say("Python stacks"),
    "memory": say("memory events"),
}


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the profiler's options that were off, and missing steps."""
    lacks = case.lacks(*_ASKED)
    if not lacks:
        return
    yield RuleFinding(
        title=say(
            "The profile leaves out {names}",
            names=join_list(name for need, name in _ASKED.items() if need not in case.has),
        ),
        explanation=say(
            "With them, findings name lines of the program, more rules can be asked, and what "
            "happens once can be told from what happens in every step."
        ),
        events=0,
        evidence=(),
        how=say("Saves no time: it makes the other advice better."),
        confidence="high",
        lacks=lacks,
    )


RULE = Rule(
    name="incomplete_recording",
    title=say("Recording leaves things out"),
    cause="recording",
    looks_for=say("Operators without steps, shapes, stacks or memory events."),
    why=say("Each is what some rules read."),
    fix=say(
        "profile(record_shapes=True, with_stack=True, profile_memory=True, "
        "schedule=schedule(wait=1, warmup=1, active=3)) and prof.step() after each step. Stacks "
        "make the host slower: record times without them, and places with them."
    ),
    threshold=say("None: it is there or not."),
    reference=say("torch.profiler's documentation."),
    check=check,
    needs=("operators",),
)
