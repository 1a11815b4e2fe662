"""What the profile leaves out that rules could use."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.rules.base import Case, Found, Need, Rule

_ASKED: tuple[Need, ...] = ("steps", "shapes", "stacks", "memory")


def check(case: Case) -> Iterator[Found]:
    """The options of the profiler that were off, and steps."""
    lacks = case.lacks(*_ASKED)
    if not lacks:
        return
    yield Found(
        title="The profile leaves out " + ", ".join(one.split(" (")[0] for one in lacks),
        explanation="With them, findings name lines of the program, more rules can be asked, and "
        "what happens once can be told from what happens in every step.",
        events=0,
        evidence=(),
        how="Saves no time: it makes the other advice better.",
        confidence="high",
        lacks=lacks,
    )


RULE = Rule(
    name="incomplete_recording",
    title="Recording leaves things out",
    cause="recording",
    looks_for="Operators without steps, shapes, stacks or memory events.",
    why="Each is what some rules read.",
    fix="profile(record_shapes=True, with_stack=True, profile_memory=True, "
    "schedule=schedule(wait=1, warmup=1, active=3)) and prof.step() after each step. Stacks make "
    "the host slower: record times without them, and places with them.",
    threshold="None: it is there or not.",
    reference="torch.profiler's documentation.",
    check=check,
    needs=("operators",),
)
