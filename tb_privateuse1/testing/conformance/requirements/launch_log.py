"""Check whether the backend logs its launches, which is optional."""

from __future__ import annotations

import time

from tb_privateuse1.capture.backend import LaunchLog
from tb_privateuse1.capture.warnings import Notes
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_OPERATORS = 5


def _check(subject: Subject) -> Answer:
    subject.read_back()  # what it prepares is not to be counted
    log, notes = LaunchLog(subject.name), Notes()
    began = time.time_ns()
    log.start(notes)
    subject.launch(_OPERATORS)
    subject.read_back()
    log.stop(notes)
    ended = time.time_ns()
    if notes.found:
        return Answer("fail", next(iter(notes.found.values())))
    if log.columns is None:
        return Answer("none", "not offered; launches are inferred")
    times = log.columns["host_ns"]
    values = {"launches": len(times)}
    if len(times) < _OPERATORS:
        return Answer("fail", f"{len(times)} launches of {_OPERATORS} operators", values)
    if not all(began <= one <= ended for one in times):
        return Answer("fail", "times are not those of the host's clock, in ns", values)
    return Answer("ok", f"{len(times)} launches, on the host's clock", values)


REQUIREMENT = Requirement(
    "launch_log",
    "launches are logged",
    "Launches are on another clock, or some are missing: kernels go to the wrong operators.",
    "const std::lock_guard<std::mutex> lock(log_lock);  // where it launches, on any thread\n"
    "log.push_back({c10::getTime(), gettid(), device, stream});  // ns, before the launch",
    _check,
    "events",
    section="launches",
)
