"""Threads without recorded operators: what they may have launched makes sums lower limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.inference.validity import unseen_threads
from tb_privateuse1.trace import device_times, uncertainty
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import overview
from tests.support.simulate import linear, simulate, step

US = 1_000
STEPS = [step(i, *[linear(6 * US, 40 * US)] * 10) for i in range(3)]
MAIN, OTHER = 1, 77
"""The first one has the operators."""


def recorded(cpu_ns: int, **facts: Any) -> Trace:
    """Return a trace beside which a thread took some processor time."""
    threads = {"thread": [MAIN, OTHER], "name": ["MainThread", "feeder"]}
    threads["cpu_ns"] = [10**9, cpu_ns]
    return simulate(STEPS, host_threads=threads, **facts).trace


def codes(trace: Trace) -> list[str]:
    return [f.code for f in trace.meta.findings if f.code.endswith("_unseen")]


def test_a_thread_with_time_to_launch_makes_a_lower_limit_that_names_it() -> None:
    trace = recorded(50_000 * US)
    assert codes(trace) == ["threads_unseen"]
    (finding,) = (f for f in trace.meta.findings if f.code == "threads_unseen")
    assert '1 thread without recorded operators took 50.0 ms of processor time ("feeder")' in (
        finding.message
    )
    assert "may have" in finding.message
    assert finding.hint is not None
    assert "profile_all_threads" in finding.hint
    assert device_times.may_lack_work(trace)
    verdict = overview(trace).verdict
    assert verdict is not None
    assert "may have launched" in verdict.sentence


def test_starts_keep_their_bounds_as_no_event_waited() -> None:
    usual, marked = recorded(0), recorded(50_000 * US)
    assert (usual.kernels.start_bound_ns == marked.kernels.start_bound_ns).all()


@pytest.mark.parametrize("cpu_us", [0, 15])
def test_a_thread_that_waits_leaves_the_claim(cpu_us: int) -> None:
    assert not recorded(cpu_us * US).meta.unseen_work


def test_work_within_the_stated_error_leaves_the_claim() -> None:
    """As many kernels of the program's mean length as the time suffices for, at its cheapest."""
    trace = recorded(0)
    bound = uncertainty.union_bound(trace.kernels)
    assert bound is not None
    mean = float((trace.kernels.end_ns - trace.kernels.start_ns).mean())
    ops = np.unique(trace.kernels.op)
    cheapest = int((trace.ops.end_ns - trace.ops.start_ns)[ops].min())
    limit = max(bound / mean, 3) * cheapest
    assert not recorded(int(limit) - 1).meta.unseen_work
    assert recorded(int(limit) + 1).meta.unseen_work


def test_a_recording_of_all_threads_accuses_none() -> None:
    assert not recorded(50_000 * US, all_threads=True).meta.unseen_work


def test_a_log_of_launches_decides_alone() -> None:
    assert not recorded(50_000 * US, record_launches=True).meta.unseen_work


def test_launches_of_a_thread_without_operators_are_sure() -> None:
    plain = simulate(STEPS, record_launches=True)
    host = plain.trace.ops.start_ns + plain.trace.base_ns
    columns = {name: [0] * len(host) for name in ("device", "stream")}
    thread = [OTHER if i % 3 == 0 else MAIN for i in range(len(host))]
    trace = recorded(0, launches={"host_ns": host.tolist(), "thread": thread, **columns})
    assert codes(trace) == ["work_unseen"]
    (finding,) = (f for f in trace.meta.findings if f.code == "work_unseen")
    assert finding.count == thread.count(OTHER)
    assert '("feeder")' in finding.message
    part = overview(trace).verdict
    assert part is not None
    assert "may have" not in part.sentence


def test_a_sidecar_without_threads_or_with_broken_ones_accuses_none() -> None:
    assert not simulate(STEPS).trace.meta.unseen_work
    for broken in ("no", {"thread": [OTHER]}, {"thread": ["a"], "name": [1], "cpu_ns": [None]}):
        assert not simulate(STEPS, host_threads=broken).trace.meta.unseen_work


def test_without_a_sidecar_nothing_is_said() -> None:
    assert unseen_threads.find(recorded(0), None) is None


def test_threads_that_ended_may_have_launched_too() -> None:
    trace = simulate(STEPS, ended_threads_ns=50_000 * US).trace
    (finding,) = (f for f in trace.meta.findings if f.code == "threads_unseen")
    assert finding.message.startswith("Threads that ended within the recording took 50.0 ms")
    both = recorded(50_000 * US, ended_threads_ns=50_000 * US)
    (finding,) = (f for f in both.meta.findings if f.code == "threads_unseen")
    assert '100.0 ms of processor time ("feeder", and others that ended)' in finding.message
    assert not recorded(0, ended_threads_ns=9 * US).meta.unseen_work
    assert not recorded(0, ended_threads_ns="many").meta.unseen_work
