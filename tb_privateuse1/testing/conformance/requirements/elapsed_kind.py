"""Find out what the elapsed times are: between two events, sums of kernels, or the host's."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_SAYS = {
    "event": "the time between two events on the stream",
    "kernel_sum": "the sum of the kernels between two events",
    "host": "the host's time: operators return when they are done",
}


def _check(subject: Subject) -> Answer:
    kind = subject.calibration.elapsed_kind
    values = {"kind": kind}
    if kind is None:
        return Answer("unknown", f"not plain: {subject.calibration.doubt}", values)
    verdict = {"event": "ok", "kernel_sum": "warn"}.get(kind, "fail")
    return Answer(verdict, _SAYS[kind], values)  # type: ignore[arg-type]


REQUIREMENT = Requirement(
    "elapsed_kind",
    "elapsed times are those between events",
    "Sums of kernels leave out idle time: starts are inferred from launches alone. Times of the "
    "host give no device timeline.",
    "// record() puts an event into the stream's order, as any launch; it waits for nothing:\n"
    "driver_event_record(event, current_stream());",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read", "elapsed_unit"),
)
