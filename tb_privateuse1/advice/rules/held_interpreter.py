"""The thread that launches waits for Python's interpreter, which another thread holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.rules.unrecorded_pauses import pauses
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.account import calls_without_launches
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.groups import frame_title
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import containing


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the pauses in which another thread runs Python."""
    held = calls_without_launches.held_by_others(case.trace, pauses(case))
    if case.share(intervals.length(held)) < MANY_PLACES:
        return
    frames = case.trace.frames
    ran = np.flatnonzero(containing(*held, frames.start_ns) >= 0)
    thread = int(np.bincount(frames.thread[ran]).argmax())
    rows = ran[frames.thread[ran] == thread]
    name = int(np.bincount(frames.name[rows]).argmax())
    middle = int(frames.start_ns[rows[len(rows) // 2]])
    yield RuleFinding(
        title=say(
            "Another thread holds the interpreter: {share} of the time",
            share=percent(case.share(intervals.length(held))),
        ),
        explanation=say(
            "{pauses} of the thread that launches, in which another one runs Python, most often "
            "{name}. The interpreter runs one thread at a time, and the device has nothing to do "
            "meanwhile.",
            pauses=plural(len(held[0]), "pause"),
            name=frame_title(case.trace.text(name)),
        ),
        events=len(rows),
        evidence=case.examples("frames", groupby.distinct_values(rows)),
        how=say("The idle time in these pauses."),
        claim=held,
        removes=case.without(instants=held),
        confidence="medium",
        source=user_functions.of_moment(case.trace, thread, middle),
    )


RULE = Rule(
    name="held_interpreter",
    title=say("Interpreter held by another thread"),
    cause="launching",
    looks_for=say(
        "Idle time while the thread that launches begins and ends nothing for as long as twenty "
        "operators, and another thread runs Python functions all the time."
    ),
    why=say("The launching thread gets the interpreter back only after some milliseconds."),
    fix=say(
        "Move that work into a process of its own (multiprocessing, a data loader's worker), or "
        "into libraries that release the interpreter: numpy, torch, tokenizers."
    ),
    threshold=say(
        "{least} of the time; a function of the other thread for each two operators.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("Python documentation: sys.setswitchinterval, 5 ms."),
    code=Code(
        before="threading.Thread(target=prepare, args=(queue,)).start()",
        after="multiprocessing.Process(target=prepare, args=(queue,)).start()",
    ),
    check=check,
    needs=("device", "operators", "stacks"),
    precedence="rest",
)
