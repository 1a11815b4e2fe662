"""Check whether a stream waits for an event of another one."""

from __future__ import annotations

import time

import torch

from tb_privateuse1.testing.conformance.lines import Answer, Requirement, Verdict, is_lacking
from tb_privateuse1.testing.conformance.subject import Subject

_TRIES = 20
"""A busy host makes it seem later, so that one that is early is enough."""
_EARLY, _LEFT = 0.5, 0.25
"""Shares of the other stream's work: a stream that went on before the one was over, while the other
was left."""


def _check(subject: Subject) -> Answer:
    try:
        side = torch.Stream(device=subject.device)
        other = torch.Stream(device=subject.device)
    except Exception as error:
        verdict: Verdict = "none" if is_lacking(error) else "unknown"
        return Answer(verdict, f"no second stream: {error}".splitlines()[0])
    values = torch.ones(16, device=subject.device)
    subject.read_back()
    whole, judged = subject.backlog_ns, 0
    for _ in range(_TRIES):
        launched, taken, left = _joined(subject, side, other, values)
        judged += launched < _EARLY * whole
        if taken < _EARLY * whole and left > _LEFT * whole:
            where = f"a stream goes on after {taken / whole:.0%} of what it waits for"
            return Answer("fail", where, {"until_ns": taken, "work_ns": whole})
    said = {"judged": judged, "work_ns": whole}
    if not judged:
        return Answer("unknown", "launches took as long as their work", said)
    return Answer("ok", "a stream waits for an event of another", said)


def _joined(
    subject: Subject, side: torch.Stream, other: torch.Stream, values: torch.Tensor
) -> tuple[int, int, int]:
    """Return when a backlog of one stream is launched, when another that waits for it has a value.

    Then what is left of the backlog. All in ns.
    """
    before = torch.accelerator.current_stream()
    try:
        torch.accelerator.set_stream(side)
        subject.read_back()
        began = time.perf_counter_ns()
        subject.launch()
        launched = time.perf_counter_ns() - began
        event = subject.event()
        event.record(side)
        torch.accelerator.set_stream(other)
        other.wait_event(event)
        values.mul_(1.0)
        values[0].item()
        taken = time.perf_counter_ns() - began
        torch.accelerator.set_stream(side)
        return launched, taken, subject.read_back()
    finally:
        torch.accelerator.set_stream(before)


REQUIREMENT = Requirement(
    "streams_joined",
    "streams wait for each other",
    "Results are wrong where streams depend on each other, and arrows between lanes are not true.",
    "void block(void* event, const c10::Stream& stream) const override {\n"
    "  driver_stream_wait_event(unwrap(stream), event);  // of the DeviceGuardImplInterface\n"
    "}",
    _check,
)
