"""Check whether the backend registered anything that measures the device."""

from __future__ import annotations

from tb_privateuse1.capture import backend
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject


def _check(subject: Subject) -> Answer:
    kineto = backend.has_native_profiler()
    values = {"stubs": subject.stubs, "kineto": kineto, "records": subject.native}
    if subject.native:
        also = " and ProfilerStubs" if subject.stubs else ""
        return Answer("ok", f"a Kineto profiler that records the device{also}", values)
    if subject.stubs:
        empty = "; the Kineto profiler records nothing" if kineto else ""
        return Answer("warn" if kineto else "ok", f"ProfilerStubs{empty}", values)
    if subject.stubs is None or subject.native is None:
        return Answer("unknown", "what is registered cannot be asked on this platform", values)
    empty = ", and the Kineto profiler records nothing" if kineto else " and no Kineto profiler"
    return Answer("fail", f"no ProfilerStubs{empty}", values)


REQUIREMENT = Requirement(
    "registered",
    "a profiler is registered",
    "Recordings show the host alone: no device time, no timeline.",
    "static MyStubs stubs;  // derives from torch::profiler::impl::ProfilerStubs\n"
    "torch::profiler::impl::registerPrivateUse1Methods(&stubs);  // when the library is loaded",
    _check,
    section="least-events-around-operators",
)
