"""Whether waits for the device return when its work is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.conformance.lines import Answer, Requirement
from tb_privateuse1.conformance.subject import Subject

_TRIES = 6
"""A busy host reads late behind a wait that was right, and a calm one once at the least."""
_EARLY = 0.5
"""The share of a backlog that is left behind a wait that returned too early."""


def _check(subject: Subject) -> Answer:
    early, raised = [], []
    for name, wait in _waits(subject).items():
        try:
            if _returns_early(subject, wait):
                early.append(name)
        except Exception as error:
            raised.append(f"{name} raised {type(error).__name__}: {error}".splitlines()[0])
    values = {"early": early, "raised": raised}
    if early:
        return Answer("fail", f"returns while the device works: {', '.join(early)}", values)
    if len(raised) == len(_waits(subject)):
        return Answer("fail", raised[0], values)
    if raised:
        return Answer("warn", raised[0], values)
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


def _returns_early(subject: Subject, wait: Callable[[], Any]) -> bool:
    """Return whether a value takes long to read behind the wait, each time: it did not wait."""
    for _ in range(_TRIES):
        subject.read_back()
        subject.launch()
        wait()
        left = subject.read_back() - subject.idle_read_ns
        if left < _EARLY * subject.backlog_ns:
            return False
    return True


REQUIREMENT = Requirement(
    "synchronize",
    "synchronize waits for the device",
    "The edges of a window are not exact, and what the program times of the device is wrong.",
    "void synchronizeDevice(const c10::DeviceIndex index) const override {\n"
    "  driver_device_synchronize(index);  // all streams; of the DeviceGuardImplInterface\n"
    "}",
    _check,
)
