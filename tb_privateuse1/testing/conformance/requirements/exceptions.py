"""Check whether the device and the recording go on behind an operator that raised."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import torch

from tb_privateuse1.capture.result_rows import duration_ns
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.requirements.kineto_rows import record
from tb_privateuse1.testing.conformance.subject import Subject

_NO_EVENTS = -1
_BEHIND = 4


def _check(subject: Subject) -> Answer:
    values = torch.ones(3, 5, device=subject.device)
    subject.read_back()
    raised = False

    def work() -> None:
        nonlocal raised
        try:
            values @ values
        except Exception:
            raised = True
        subject.launch(_BEHIND)

    try:
        measured = _measured(subject, work)
    except Exception as error:
        if not raised:
            raise
        return Answer("fail", f"what follows raises, too: {error}".splitlines()[0])
    if not raised:
        return Answer("fail", "a product of 3 by 5 and 3 by 5 does not raise")
    values_found = {"behind": _BEHIND, "measured": measured}
    if measured < _BEHIND:
        said = f"{_BEHIND - measured} of {_BEHIND} operators behind it have no time"
        return Answer("fail", said, values_found)
    with suppress(RuntimeError):  # an error that shows late must not be the next test's
        torch.accelerator.synchronize()
    said = "what follows is measured" if subject.routes else "the device works on"
    return Answer("ok", f"it raises, and {said}", values_found)


def _measured(subject: Subject, work: Callable[[], None]) -> int:
    """Return how many of the operators in ``work`` have a time of the device.

    Without a route none can have one, so that it is enough that the device did them.
    """
    if not subject.routes:
        work()
        subject.read_back()
        return _BEHIND
    if "events" not in subject.routes:
        lengths = [duration_ns(row) for row in record(subject, work).device]
        return sum(2 * one > max(lengths) for one in lengths)  # a value is copied as well
    rows = [row for row in subject.rows(work) if row.name == "aten::mul_"]
    return sum(row.elapsed is not None and row.elapsed > _NO_EVENTS for row in rows)


REQUIREMENT = Requirement(
    "exceptions",
    "an operator that raises costs nothing else",
    "One error of the program ends the recording, or its times.",
    'TORCH_CHECK(self.size(1) == other.size(0), "mm: the shapes do not fit");\n'
    "driver_launch(kernel, arguments, current_stream());  // behind all checks\n"
    "// Where an error is kept until the next call, clear it: record() is called behind it, too.",
    _check,
    rests_on=("stubs_called", "elapsed_read"),
)
