"""Check whether operators return before their work is done."""

from __future__ import annotations

from tb_privateuse1.capture.calibration.queue_check import check_queue
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject


def _check(subject: Subject) -> Answer:
    verdict = check_queue(subject.name, {})
    values = {"on_host": verdict.on_host}
    if verdict.on_host is None:
        return Answer("unknown", str(verdict.doubt), values)
    if verdict.on_host:
        return Answer("fail", "each call takes as long as its work", values)
    return Answer("ok", "calls return before their work is done", values)


REQUIREMENT = Requirement(
    "asynchronous",
    "operators are launched, not waited for",
    "There is no device timeline apart from the host's, and the host waits in every operator.",
    "driver_launch(kernel, arguments, current_stream());\n"
    "// and no driver_stream_synchronize() behind it",
    _check,
)
