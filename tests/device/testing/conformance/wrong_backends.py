"""Backends with a mistake, made from the reference device by a switch each."""

from __future__ import annotations

from typing import NamedTuple


class Wrong(NamedTuple):
    """A mistake: the environment that makes it, and the line of the scorecard that names it."""

    line: str
    environment: dict[str, str]


def _fault(line: str, name: str, **more: str) -> Wrong:
    return Wrong(line, {"REFDEVICE_FAULT": name, **more})


_NATIVE = {"REFDEVICE_KINETO": "1", "REFDEVICE_STUBS": "0"}

WRONG = {
    "no name": _fault("renamed", "unnamed"),
    "no module": _fault("renamed", "no_module"),
    "no stubs": Wrong("registered", {"REFDEVICE_STUBS": "0"}),
    "an empty Kineto profiler": Wrong(
        "registered", {"REFDEVICE_STUBS": "0", "REFDEVICE_KINETO": "empty"}
    ),
    "stubs without events": _fault("stubs_called", "no_events"),
    "elapsed throws": _fault("elapsed_read", "elapsed_throws"),
    "elapsed is slow": _fault("elapsed_cost", "elapsed_slow"),
    "milliseconds": Wrong("elapsed_unit", {"REFDEVICE_ELAPSED_UNIT": "ms"}),
    "nanoseconds": Wrong("elapsed_unit", {"REFDEVICE_ELAPSED_UNIT": "ns"}),
    "sums of kernels": Wrong("elapsed_kind", {"REFDEVICE_ELAPSED_KIND": "kernel_sum"}),
    "a coarse clock": Wrong("resolution", {"REFDEVICE_ELAPSED_RESOLUTION_NS": "100000"}),
    "events run backwards": _fault("monotony", "backwards"),
    "a clock that drifts": Wrong("drift", {"REFDEVICE_CLOCK_DRIFT_PPM": "500"}),
    "synchronize returns": _fault("synchronize", "wait_returns"),
    "synchronize throws": _fault("synchronize", "wait_throws"),
    "query says done": _fault("query", "query_done"),
    "query never says done": _fault("query", "query_never"),
    "the host's thread": Wrong("asynchronous", {"REFDEVICE_ELAPSED_KIND": "host"}),
    "launches are held back": _fault("batching", "batches"),
    "a long latency": Wrong("latency", {"REFDEVICE_LAUNCH_LATENCY_NS": "2000000"}),
    "events cost much": Wrong("event_cost", {"REFDEVICE_EVENT_COST_NS": "20000"}),
    "kernels far apart": Wrong("kernel_gap", {"REFDEVICE_KERNEL_GAP_NS": "200000"}),
    "unnamed streams": _fault("streams_named", "unnamed_streams"),
    "streams do not wait": _fault("streams_joined", "wait_ignored"),
    "a wrong device": _fault("device_index", "device_index"),
    "no event times": _fault("event_times", "no_event_times"),
    "event times in us": _fault("event_times", "times_unit"),
    "memory is not reported": _fault("memory", "memory"),
    "elapsed_time in us": _fault("step_markers", "event_unit"),
    "launches in us": _fault("launch_log", "log_unit"),
    "launches are lost": _fault("launch_log", "log_loses"),
    "Kineto in us": _fault("kineto_kernels", "kineto_unit", **_NATIVE),
    "Kineto loses kernels": _fault("kineto_kernels", "kineto_loses", **_NATIVE),
    "durations of Kineto in us": _fault("known_durations", "kineto_unit", **_NATIVE),
    "starts of Kineto in other ticks": _fault("known_starts", "kineto_ticks", **_NATIVE),
    "Kineto on another clock": _fault("kineto_clock", "kineto_clock", **_NATIVE),
    "Kineto without correlation": _fault("kineto_correlation", "no_correlation", **_NATIVE),
    "an operator on the CPU": _fault("operators", "cpu_fallback"),
    "an operator that waits": _fault("operators", "operator_waits"),
    "one thread is measured": _fault("threads", "threads"),
    "errors pass": _fault("exceptions", "errors_pass"),
    "an error ends the events": _fault("exceptions", "events_end"),
    "a fork hangs": _fault("fork", "fork_hangs"),
}
