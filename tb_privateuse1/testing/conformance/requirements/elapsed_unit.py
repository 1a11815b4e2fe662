"""Check whether ``elapsed`` of the stubs returns microseconds."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_FACTORS = {"us": 1.0, "ms": 1e-3, "ns": 1e3}
_ALIKE = 2.5
"""How many times longer or shorter a time in the right unit may be: waits and gaps are in it."""


def _check(subject: Subject) -> Answer:
    unit = subject.calibration.elapsed_unit or _by_work(subject)
    values = {"unit": unit}
    if unit is None:
        return Answer("unknown", "the times fit no unit", values)
    return Answer("ok" if unit == "us" else "fail", unit, values)


def _by_work(subject: Subject) -> str | None:
    """Return the unit in which long operators took as long as the host saw them take.

    A backend that counts only kernels reads an idle range as 0, so that it has to work.
    """
    from torch.autograd.profiler import record_function

    def work() -> None:
        with record_function("tb_privateuse1::unit"):
            subject.launch()

    host_us = subject.backlog_ns / 1e3
    elapsed = [row.elapsed for row in subject.rows(work) if row.name.endswith("::unit")]
    longest = max((us for us in elapsed if us), default=0)
    for unit, factor in _FACTORS.items():
        if 1 / _ALIKE < longest / (host_us * factor) < _ALIKE:
            return unit
    return None


REQUIREMENT = Requirement(
    "elapsed_unit",
    "elapsed() returns microseconds",
    "Device times are wrong by a factor of a thousand, and are not used. Nothing converts them, "
    "as torch has cut off what was below one.",
    "float elapsed(const ProfilerVoidEventStub* first, const ProfilerVoidEventStub* second)\n"
    "    const override {\n"
    "  // us: most drivers return ms\n"
    "  return 1000.0f * driver_elapsed_ms(first->get(), second->get());\n"
    "}",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read"),
    section="least-events-around-operators",
)
