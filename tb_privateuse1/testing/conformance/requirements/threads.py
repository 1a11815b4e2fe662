"""Check whether work of other threads is measured, as that of autograd's engine."""

from __future__ import annotations

import torch

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_NO_EVENTS = -1
_LAYERS = 4


def _check(subject: Subject) -> Answer:
    values = torch.ones(16, 16, device=subject.device, requires_grad=True)

    def train() -> None:
        result = values
        for _ in range(_LAYERS):
            result = result * values
        torch.autograd.backward(result.sum())

    train()
    rows = subject.rows(train)
    if not rows:
        return Answer("unknown", "torch recorded no operators")
    main = min(rows, key=lambda row: row.start_ns).thread
    others = [row for row in rows if row.thread != main]
    without = sum(row.elapsed == _NO_EVENTS for row in others)
    found = {"rows": len(others), "without_events": without}
    if not others:
        return Answer("ok", "the backward pass runs on the caller's thread", found)
    if without:
        said = f"{without} of {len(others)} operators of the backward pass have no events"
        return Answer("fail", said, found)
    return Answer("ok", f"{len(others)} operators of autograd's thread have events", found)


REQUIREMENT = Requirement(
    "threads",
    "operators of all threads are measured",
    "The backward pass, which autograd runs on a thread of its own, has no device times.",
    "// In record(): the stream of the thread that calls it, and no state of the first one.\n"
    "*event = std::make_shared<MyEvent>(current_stream());",
    _check,
    "events",
    rests_on=("stubs_called",),
)
