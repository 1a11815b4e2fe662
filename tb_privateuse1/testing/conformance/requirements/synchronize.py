"""Check whether waits for the device return when its work is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_TRIES = 10
"""A busy host delays what it sees, so that one wait that was too short is enough."""
_EARLY, _LEFT = 0.5, 0.25
"""Shares of a backlog: a wait that came back before the one was over, and left the other."""


def _check(subject: Subject) -> Answer:
    early, raised, unjudged = [], [], []
    subject.backlog_ns  # noqa: B018 - a host that is too busy for it is no fault of a wait
    for name, wait in _waits(subject).items():
        try:
            is_early = _returns_early(subject, wait)
            if is_early:
                early.append(name)
            elif is_early is None:
                unjudged.append(name)
        except Exception as error:
            raised.append(f"{name} raised {type(error).__name__}: {error}".splitlines()[0])
    values = {"early": early, "raised": raised}
    if early:
        return Answer("fail", f"returns while the device works: {', '.join(early)}", values)
    if len(raised) == len(_waits(subject)):
        return Answer("fail", raised[0], values)
    if raised:
        return Answer("warn", raised[0], values)
    if unjudged:
        return Answer("unknown", f"launches took as long as their work: {', '.join(unjudged)}")
    return Answer("ok", "device, stream and event return when the work is done", values)


def _waits(subject: Subject) -> dict[str, Callable[[], Any]]:
    def wait_for_event() -> None:
        event = subject.event()
        event.record()
        event.synchronize()

    return {
        "device": torch.accelerator.synchronize,
        "stream": lambda: torch.accelerator.current_stream().synchronize(),
        "event": wait_for_event,
    }


def _returns_early(subject: Subject, wait: Callable[[], Any]) -> bool | None:
    """Return whether the wait once came back before the device can have done its work.

    Something was left to do then, too, which took long to read back. None if the device had done
    half of its work in all tries when the wait began.
    """
    whole, is_judged = subject.backlog_ns, False
    for _ in range(_TRIES):
        subject.read_back()
        began = time.perf_counter_ns()
        subject.launch()
        is_judged |= time.perf_counter_ns() - began < _EARLY * whole
        wait()
        taken = time.perf_counter_ns() - began
        if taken < _EARLY * whole and subject.read_back() > _LEFT * whole:
            return True
    return False if is_judged else None


REQUIREMENT = Requirement(
    "synchronize",
    "synchronize waits for the device",
    "The edges of a window are not exact, and what the program times of the device is wrong.",
    "// All three are of the DeviceGuardImplInterface:\n"
    "void synchronizeDevice(const c10::DeviceIndex index) const override {\n"
    "  driver_device_synchronize(index);  // all streams\n"
    "}\n"
    "void synchronizeStream(const c10::Stream& stream) const override {\n"
    "  driver_stream_synchronize(unwrap(stream));\n"
    "}\n"
    "void synchronizeEvent(void* event) const override {\n"
    "  driver_event_synchronize(event);\n"
    "}",
    _check,
)
