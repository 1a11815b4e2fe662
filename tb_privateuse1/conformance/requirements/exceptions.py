"""Check whether the device and the recording go on behind an operator that raised."""

from __future__ import annotations

from contextlib import suppress

import torch

from tb_privateuse1.conformance.lines import Answer, Requirement
from tb_privateuse1.conformance.subject import Subject

_NO_EVENTS = -1


def _check(subject: Subject) -> Answer:
    values = torch.ones(3, 5, device=subject.device)
    raised = False

    def work() -> None:
        nonlocal raised
        try:
            values @ values
        except Exception:
            raised = True
        subject.launch(2)

    if "events" in subject.routes:
        rows = subject.rows(work)
        behind = [row for row in rows if row.name == "aten::mul_"]
        without = sum(row.elapsed is None or row.elapsed <= _NO_EVENTS for row in behind)
    else:
        work()
        subject.read_back()
        behind, without = [], 0
    if not raised:
        return Answer("fail", "a product of 3 by 5 and 3 by 5 does not raise")
    if without:
        return Answer("fail", f"{without} of {len(behind)} operators behind it have no time")
    with suppress(RuntimeError):  # an error that shows late must not be the next test's
        torch.accelerator.synchronize()
    return Answer("ok", "it raises, and what follows is measured")


REQUIREMENT = Requirement(
    "exceptions",
    "an operator that raises costs nothing else",
    "One error of the program ends the recording, or its times.",
    'TORCH_CHECK(self.size(1) == other.size(0), "…");  // before anything is launched',
    _check,
    rests_on=("stubs_called", "elapsed_read"),
)
