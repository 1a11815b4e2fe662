"""Waits for device events that the profiler recorded: who waits for which stream."""

from __future__ import annotations

from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import Event, kernel, launch, op, span, trace


def call(name: str, start: float, correlation: int, end: float | None = None) -> Event:
    """A call of the runtime that launches nothing."""
    stop = start + 1 if end is None else end
    return span("cuda_runtime", name, start, stop, correlation=correlation)


def sync(kind: str, correlation: int, stream: int = -1, **waited_for: int) -> Event:
    """What Kineto records of a synchronization."""
    names = {"wait_on": "wait_on_stream", "record": "wait_on_cuda_event_record_corr_id"}
    args = {names[key]: value for key, value in waited_for.items()}
    return span("cuda_sync", kind, 0, 1, thread=stream, correlation=correlation, device=0,
                stream=stream, **args)  # fmt: skip


def two_streams(*more: Event) -> Trace:
    """Two streams, with an event that is recorded on the first one."""
    return trace(
        op("aten::mm", 0, 40, id=1),
        launch(0, 2, 1), kernel("first", 10, 30, 1, stream=7),
        call("cudaEventRecord", 3, 2),
        launch(5, 7, 3), kernel("later", 30, 60, 3, stream=7),
        launch(10, 12, 5), kernel("second", 31, 40, 5, stream=8),
        *more,
    )  # fmt: skip


def rows(made: Trace) -> list[tuple[str, int, str, int]]:
    """Call, waiting stream, recording call and awaited stream of each wait."""
    waits, launches = made.event_waits, made.launches
    names = [made.text(name) for name in launches.name] + [""]
    streams = [*made.lanes.stream.tolist(), NONE]
    return [
        (names[launch], streams[lane], names[record], streams[awaited])
        for launch, lane, record, awaited in zip(
            *(column.tolist() for _, column in waits.columns()), strict=True
        )
    ]


def test_a_stream_waits_for_an_event() -> None:
    made = two_streams(
        call("cudaStreamWaitEvent", 8, 4), sync("Stream Wait Event", 4, 8, wait_on=7, record=2)
    )
    assert rows(made) == [("cudaStreamWaitEvent", 8, "cudaEventRecord", 7)]


def test_the_host_waits_for_an_event_or_a_stream() -> None:
    made = two_streams(
        call("cudaEventSynchronize", 13, 6, 31), sync("Event Sync", 6, wait_on=7, record=2),
        call("cudaStreamSynchronize", 32, 7, 61), sync("Stream Sync", 7, 7),
    )  # fmt: skip
    assert rows(made) == [
        ("cudaEventSynchronize", NONE, "cudaEventRecord", 7),
        ("cudaStreamSynchronize", NONE, "", 7),
    ]


def test_what_is_not_known_is_left_out() -> None:
    """An event of before the recording, the whole device, and a stream without activities."""
    made = two_streams(
        call("cudaStreamWaitEvent", 8, 4), sync("Stream Wait Event", 4, 8, wait_on=-1, record=-1),
        call("cudaStreamWaitEvent", 9, 6), sync("Stream Wait Event", 6, 99, wait_on=7, record=2),
        call("cudaDeviceSynchronize", 32, 7, 61), sync("Context Sync", 7),
        sync("Event Sync", 1234, wait_on=7, record=2),
    )  # fmt: skip
    assert rows(made) == []
