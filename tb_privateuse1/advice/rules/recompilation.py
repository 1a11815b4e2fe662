"""Compilation inside the judged steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.recording.capture_and_compilation import (
    COMPILER_FRAMES,
    COMPILER_RANGES,
)
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the compiler's ranges or frames."""
    ranges = case.ops(COMPILER_RANGES)
    frames = case.trace.frames
    framed = np.flatnonzero(case.named("frames", COMPILER_FRAMES)) if len(frames) else ranges[:0]
    compiling = intervals.merge(case.time(ranges), case.time(framed, "frames"))
    claim = case.of_host(compiling)
    if claim is None or case.share(intervals.length(claim)) < NOISE:
        return
    times = intervals.intersect(compiling, case.window)
    yield RuleFinding(
        title=say(
            "Compilation {inside}: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
            inside=case.inside,
        ),
        explanation=say(
            "{times} the compiler ran in the analyzed steps, while the device had nothing to do. "
            "After the first steps that happens when a shape or another guard changes.",
            times=plural(len(times[0]), "time"),
        ),
        events=len(ranges) + len(framed),
        evidence=case.examples("ops", ranges) or case.examples("frames", framed),
        how=say("The compiler's time while the device had nothing to do."),
        claim=claim,
        removes=case.without(ops=ranges, frames=framed),
        confidence="high",
        lacks=case.lacks("stacks", "shapes"),
    )


RULE = Rule(
    name="recompilation",
    title=say("Compilation in the loop"),
    cause="launching",
    looks_for=say("Ranges and frames of TorchDynamo, Inductor and Triton compiling."),
    why=say("A compilation takes seconds, and the device waits."),
    fix=say(
        "TORCH_LOGS=recompiles names the guard; mark sizes with torch._dynamo.mark_dynamic or "
        "pad to a few; leave the first steps out of the profile by the schedule's warmup."
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
