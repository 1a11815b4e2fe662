"""Whether operators return before their work is done, also where the host is busy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.capture.calibration import queue_check
from tb_privateuse1.capture.calibration.queue_check import Launch, Verdict, judge
from tests.support.on_device import device

LATE_NS = st.integers(0, 5_000_000)


def launches(launched_ns: int, done_ns: int, late: list[tuple[int, int]]) -> list[Launch]:
    """The launches of one size on a host that is late by ``late``, the last time not at all."""
    late = [*late, (0, 0)]
    return [Launch(launched_ns + first, done_ns + first + second) for first, second in late]


@given(
    st.integers(5_000, 100_000),
    st.integers(900_000, 3_000_000),
    st.lists(st.tuples(LATE_NS, LATE_NS), max_size=4),
    st.lists(st.tuples(LATE_NS, LATE_NS), max_size=4),
)
def test_one_calm_try_at_each_size_is_enough(
    call_ns: int, work_ns: int, small: list[tuple[int, int]], large: list[tuple[int, int]]
) -> None:
    queue = judge(
        launches(call_ns, call_ns + work_ns // 16, small),
        launches(call_ns, call_ns + work_ns, large),
    )
    assert queue == Verdict(False)
    long = call_ns + work_ns
    host = judge(
        launches(call_ns + work_ns // 16, call_ns + work_ns // 16 + 5_000, small),
        launches(long, long + 5_000, large),
    )
    assert host == Verdict(True)


@given(st.integers(5_000, 300_000), st.lists(LATE_NS, min_size=3, max_size=9))
def test_waits_that_came_back_late_are_no_queue(call_ns: int, late: list[int]) -> None:
    """All of the waits behind small work on the host's thread were late, at both sizes alike."""
    small = [Launch(call_ns, call_ns + each) for each in late]
    large = [Launch(call_ns + 10_000, call_ns + 10_000 + each) for each in late]
    assert judge(small, large).on_host is None


def test_a_launch_that_grows_half_as_fast_is_in_doubt() -> None:
    found = judge([Launch(100_000, 200_000)], [Launch(600_000, 1_200_000)])
    assert found == Verdict(None, "launches grew by 50% of what their work grew by")


def test_a_call_that_does_more_than_its_work_is_in_doubt() -> None:
    """It grows as the work does, but most of the work is done behind it."""
    found = judge([Launch(10_000, 900_000)], [Launch(1_200_000, 2_200_000)])
    assert found.on_host is None


def checked(monkeypatch: pytest.MonkeyPatch, step_ns: int) -> Verdict:
    """A device with a queue, on a host whose thread takes ``step_ns`` from one look to the next."""
    spent = itertools.count(0, step_ns)
    monkeypatch.setattr(queue_check.time, "thread_time_ns", lambda: next(spent))
    monkeypatch.setattr(
        queue_check, "_launch", lambda values, _: Launch(10_000, 60 * values.numel())
    )
    return queue_check.check_queue("cpu", {})


def test_the_processors_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that takes the host long is not tried three times."""
    found = checked(monkeypatch, 100_000_000)
    assert found.on_host is None
    assert "processor time" in str(found.doubt)


def test_a_slow_host_tries_often_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first launch of a process took 12 ms of a busy machine."""
    assert checked(monkeypatch, 12_000_000) == Verdict(False)


def test_waits_that_are_all_late_at_first_lead_to_larger_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late_ns = iter([5_000_000] * 18)
    monkeypatch.setattr(
        queue_check,
        "_launch",
        lambda values, _: Launch(10_000, 60 * values.numel() + next(late_ns, 0)),
    )
    assert queue_check.check_queue("cpu", {}) == Verdict(False)


def test_a_lost_core_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the time, nor between the two readings that make one."""
    times: Iterator[int] = iter([1_000, 9_000])
    waited: Iterator[bytes] = iter([b"5 100 1", b"5 7100 2", b"5 7100 2"])
    monkeypatch.setattr(queue_check.time, "perf_counter_ns", lambda: next(times))
    monkeypatch.setattr(queue_check.os, "pread", lambda *_: next(waited))
    clock = queue_check.CoreClock()
    clock._file = 0
    assert clock.now_ns() == 9_000 - 7_100


def test_a_system_without_such_counts_has_the_plain_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> int:
        raise FileNotFoundError

    monkeypatch.setattr(queue_check.os, "open", missing)
    with queue_check.CoreClock() as clock:
        assert not clock.known
        assert clock.now_ns() <= clock.now_ns()


@pytest.mark.parametrize(("kind", "expected"), [("event", "event"), ("host", "host")])
def test_a_busy_host_is_not_misled(tmp_path: Path, kind: str, expected: str) -> None:
    """In no recording of a few is one kind taken for the other; doubt is no error."""
    done = device(
        tmp_path,
        f"""
        import subprocess, sys
        torch.set_num_threads(1)
        refdevice.configure(elapsed_kind="{kind}")
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
        try:
            answer["kinds"] = []
            for _ in range(5):
                calibration._calibrate.cache_clear()
                answer["kinds"].append(calibration.calibrate("refdev").elapsed_kind)
        finally:
            for each in busy:
                each.kill()
        """,
    )
    assert set(done.answer["kinds"]) <= {None, expected}
