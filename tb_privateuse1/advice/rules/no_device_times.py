"""A device was used, but no device times were recorded."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding
from tb_privateuse1.i18n import join_sentences, say

_CODES = (
    "events_route_dead",
    "no_device_times",
    "elapsed_coarse",
    "elapsed_not_of_a_stream",
    "elapsed_of_the_host",
    "elapsed_unit",
    "several_streams",
)


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the inference's findings about the missing device times."""
    if len(case.trace.kernels):
        return
    findings = [finding for finding in case.trace.meta.findings if finding.code in _CODES]
    if not findings:
        return
    parts = [part for finding in findings for part in (finding.message, finding.hint or "")]
    yield RuleFinding(
        title=say("The device's time is missing from this profile"),
        explanation=join_sentences((*parts, say("Advice is limited to what the host did."))),
        events=0,
        evidence=(),
        how=say("Saves no time: with device times, most rules can tell what a finding costs."),
        confidence="high",
        lacks=case.lacks("device"),
        urgent=True,
    )


RULE = Rule(
    name="no_device_times",
    title=say("Device times missing"),
    cause="recording",
    looks_for=say(
        "A PrivateUse1 device in the trace, and neither kernels nor usable elapsed times."
    ),
    why=say("The limit of the program is unknown: the host's times include its waiting."),
    fix=say(
        "Record with tb_privateuse1.capture; the backend needs its ProfilerStubs registered (c10 "
        "registerPrivateUse1Methods), with events that are recorded on the stream the operators "
        "use. See docs/guide/capture.md."
    ),
    threshold=say("None: it is there or not."),
    reference=say("docs/guide/capture.md, docs/internals/inference.md."),
    code=Code(
        before=("with torch.profiler.profile() as prof:\n    train()"),
        after=(
            'handler = capture.tensorboard_trace_handler("./log")\n'
            "with capture.profile(on_trace_ready=handler) as prof:\n"
            "    train()"
        ),
    ),
    check=check,
    reads_all=True,
)
