"""Check whether torch knows the backend by a name of its own."""

from __future__ import annotations

import torch

from tb_privateuse1.capture import backend
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject


def _check(subject: Subject) -> Answer:
    if subject.name == backend.UNNAMED:
        return Answer("fail", f"it is still called {backend.UNNAMED!r}")
    if subject.module is None:
        return Answer("fail", f"there is no module torch.{subject.name}")
    if not backend.is_current():
        return Answer("fail", f"torch.accelerator has another device than {subject.name!r}")
    return Answer("ok", f"{subject.name!r}, torch {torch.__version__}")


REQUIREMENT = Requirement(
    "renamed",
    "the backend has a name and a module",
    "torch's profiler refuses a backend without a name: recordings show the host alone.",
    'torch.utils.rename_privateuse1_backend("mydev")\n'
    'torch._register_device_module("mydev", mydev_module)  # with is_available, device_count, …',
    _check,
    language="Python",
    section="least-events-around-operators",
)
