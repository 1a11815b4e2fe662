"""Compilation inside the judged steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.recording.capture_and_compilation import (
    COMPILER_FRAMES,
    COMPILER_RANGES,
    compilations,
)
from tb_privateuse1.analysis.recording.compiled_regions import (
    Recompilation,
    inside_recording,
    recompilations,
)
from tb_privateuse1.analysis.recording.durations import write_duration
from tb_privateuse1.i18n import join_sentences, plural, say
from tb_privateuse1.i18n.units import percent, shorten
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE

_MOST_FUNCTIONS = 3
"""That an explanation names; the page has all."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the compiler's ranges or frames; else what its log says of earlier ones."""
    ranges = case.ops(COMPILER_RANGES)
    frames = case.trace.frames
    framed = np.flatnonzero(case.named("frames", COMPILER_FRAMES)) if len(frames) else ranges[:0]
    compiling = intervals.merge(case.time(ranges), case.time(framed, "frames"))
    claim = case.of_host(compiling)
    if claim is None or case.share(intervals.length(claim)) < NOISE:
        yield from _before(case)
        return
    times = intervals.intersect(compiling, case.window)
    yield RuleFinding(
        title=say(
            "Compilation {inside}: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
            inside=case.inside,
        ),
        explanation=join_sentences(
            (
                say(
                    "{times} the compiler ran in the analyzed steps, while the device had nothing "
                    "to do. After the first steps that happens when a shape or another guard "
                    "changes.",
                    times=plural(len(times[0]), "time"),
                ),
                _reasons(recompilations(case.trace, case.window)),
            )
        ),
        events=len(ranges) + len(framed),
        evidence=case.examples("ops", ranges) or case.examples("frames", framed),
        how=say("The compiler's time while the device had nothing to do."),
        claim=claim,
        removes=case.without(ops=ranges, frames=framed),
        confidence="high",
        lacks=case.lacks("stacks", "shapes"),
    )


def _before(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield recompilations that the judged steps do not have, by the log: they may come again."""
    again = recompilations(case.trace)
    failed = sum(one.failed for one in again)
    inside = intervals.length(inside_recording(case.trace, again))
    if not again or (not failed and inside < NOISE * case.trace.end_ns):
        return
    yield RuleFinding(
        title=say(
            "{count:,} recompilations, {time} of them in the recording",
            count=len(again),
            time=write_duration(inside),
        ),
        explanation=join_sentences(
            (
                say(
                    "The analyzed steps have no compilation. By torch's log, functions were "
                    "compiled again before or between them, as guards failed."
                ),
                say(
                    "{failed:,} of these compilations gave no code: the function then runs "
                    "without the compiler.",
                    failed=failed,
                )
                if failed
                else "",
                _reasons(again),
            )
        ),
        events=len(again),
        evidence=case.examples("ops", compilations(case.trace)[1]),
        how=say("None is promised: nothing shows that the analyzed steps compile again."),
        confidence="high",
        source=again[-1].place,
    )


def _reasons(again: Sequence[Recompilation]) -> str:
    """Return the functions with most recompilations by the log, each with its last guard."""
    by_function: dict[str, list[Recompilation]] = {}
    for one in again:
        by_function.setdefault(one.function, []).append(one)
    most = sorted(by_function.values(), key=len, reverse=True)[:_MOST_FUNCTIONS]
    return join_sentences(
        say(
            "{function}: {count:,} of them, the last by the guard {guard}.",
            function=found[0].function,
            count=len(found),
            guard=shorten(found[-1].guard, LONGEST_INLINE),
        )
        for found in most
    )


RULE = Rule(
    name="recompilation",
    title=say("Compilation in the loop"),
    cause="launching",
    looks_for=say(
        "Ranges and frames of TorchDynamo, Inductor and Triton compiling; recompilations of "
        "torch's log (TORCH_TRACE), with the guards that failed."
    ),
    why=say("A compilation takes seconds, and the device waits."),
    fix=say(
        "TORCH_LOGS=recompiles or TORCH_TRACE names the guard; mark sizes with "
        "torch._dynamo.mark_dynamic or pad to a few; leave the first steps out of the profile by "
        "the schedule's warmup."
    ),
    threshold=say("{least} of the step.", least=exact_percent(NOISE)),
    reference=say("PyTorch, torch.compiler troubleshooting."),
    code=Code(
        before=(
            "model = torch.compile(model)\n"
            "for batch in loader:  # of many lengths\n"
            "    model(batch)"
        ),
        after=(
            "model = torch.compile(model)\n"
            "for batch in loader:\n"
            "    torch._dynamo.mark_dynamic(batch, 1)\n"
            "    model(batch)"
        ),
    ),
    remedy="dynamic_shapes",
    check=check,
    needs=("operators",),
)
