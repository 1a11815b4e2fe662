"""Activities that last longer than their stream allows."""

from __future__ import annotations

from tb_privateuse1.views.overview import overview
from tests.support.make import Event, kernel, launch, op, trace
from tests.support.quality import found, sure

LONG = 1_600_000


def program(*lengths: float) -> list[Event]:
    """Kernels of these lengths, every 20 us, each launched by an operator."""
    events = []
    for i, length in enumerate(lengths):
        at = 20 * i
        events += [
            op("aten::relu", at, at + 4, id=i + 1),
            launch(at + 1, at + 2, i + 1),
            kernel("relu", at + 5, at + 5 + length, i + 1),
        ]
    return events


def test_an_overflow_ends_at_the_next_start_of_its_stream() -> None:
    t = trace(*program(10, LONG, 10, 10, 10))
    finding = sure(t, "impossible_durations")
    assert finding.count == 1
    assert "1 of 5 device activities" in finding.message
    assert "1.6 s" in finding.message
    kernels = t.kernels
    assert (kernels.end_ns - kernels.start_ns).tolist() == [10_000, 20_000, 10_000, 10_000, 10_000]
    assert kernels.duration_bound_ns.tolist() == [0, 20_000, 0, 0, 0]
    totals = overview(t).totals
    assert totals.busy_ns is not None
    assert totals.busy_bound_ns is not None
    assert totals.busy_ns - totals.busy_bound_ns <= 50_000 <= totals.busy_ns


def test_the_last_one_lasts_as_long_as_others_of_its_name() -> None:
    t = trace(*program(10, 12, 10, LONG))
    assert sure(t, "impossible_durations").count == 1
    assert int(t.kernels.end_ns[-1] - t.kernels.start_ns[-1]) == 12_000


def test_a_wait_shows_when_the_last_one_had_ended() -> None:
    long = [launch(60, 61, 99), kernel("flush", 62, 62 + LONG, 99)]
    wait = launch(63, 80, 100) | {"name": "cudaDeviceSynchronize"}
    t = trace(*program(10, 10), *long, wait)
    assert sure(t, "impossible_durations").count == 1
    assert int(t.kernels.end_ns[-1]) == 80_000


def test_a_device_that_is_ahead_of_the_host_is_no_overflow() -> None:
    """Its clock shifts the starts, too."""
    late = [launch(60, 61, 99), kernel("flush", 162, 172, 99)]
    wait = launch(63, 80, 100) | {"name": "cudaDeviceSynchronize"}
    t = trace(*program(10, 10), *late, wait)
    assert found(t, "impossible_durations") is None
    behind = [launch(90, 91, 101), kernel("flush", 92, 100, 101)]
    long = [launch(60, 61, 99), kernel("flush", 62, 2000, 99)]
    t = trace(*program(10, 10), *long, wait, *behind, op("aten::sort", 200, LONG))
    assert sure(t, "impossible_durations").count == 1


def test_a_last_one_without_others_of_its_name_is_doubtful() -> None:
    t = trace(*program(10, 10), kernel("flush", 200, 200 + LONG, 99))
    assert found(t, "impossible_durations") is None
    assert sure(t, "doubtful_durations").severity == "info"
    waits = kernel("ncclAllReduce", 100, 110, 98), kernel("ncclAllReduce", 200, 200 + LONG, 99)
    waiting = trace(*program(10, 10), *waits)
    assert found(waiting, "impossible_durations") is None
    assert sure(waiting, "doubtful_durations").count == 1


def test_programmatic_launches_and_several_queues_are_no_overflow() -> None:
    early = trace(*program(25, 25, 25, 25))
    assert found(early, "impossible_durations") is None
    queues = trace(
        *(kernel("long", 100 * i, 100 * i + 350) for i in range(8)),
        *(kernel("short", 100 * i + 10, 100 * i + 20) for i in range(8)),
    )
    assert found(queues, "impossible_durations") is None
    other_stream = trace(kernel("long", 0, 500), kernel("short", 10, 20, stream=9))
    assert found(other_stream, "impossible_durations") is None


def test_a_missing_length_lasts_at_most_to_the_next_start_or_as_long_as_its_name() -> None:
    t = trace(*program(10.5, 0, 10.5, -3, 12.5))
    finding = sure(t, "unwritten_durations")
    assert finding.count == 2
    assert "2 of 5 device activities have no length" in finding.message
    kernels = t.kernels
    assert (kernels.end_ns - kernels.start_ns).tolist() == [10_500, 12_500, 10_500, 12_500, 12_500]
    assert kernels.duration_bound_ns.tolist() == [0, 12_500, 0, 12_500, 0]
    alone = trace(*program(0, 0, 0), kernel("copy", 100, 101.5, category="gpu_memcpy"))
    assert sure(alone, "unwritten_durations").count == 3
    assert alone.kernels.duration_bound_ns.tolist() == [20_000, 20_000, 55_000, 0]


def test_whole_microseconds_hide_short_work() -> None:
    short = trace(*program(1, 0, 1, 2, 0))
    assert found(short, "unwritten_durations") is None
    # One kernel's code runs small and large tensors.
    assert found(trace(*program(1, 0, 300)), "unwritten_durations") is None
    assert sure(trace(*program(10, 0, 10)), "unwritten_durations").count == 1
    none = trace(*program(0, 0, 0), kernel("copy", 100, 101, category="gpu_memcpy"))
    assert sure(none, "unwritten_durations").count == 3
