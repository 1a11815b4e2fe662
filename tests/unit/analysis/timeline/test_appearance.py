"""Display attributes of ranges: class and certainty."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.timeline import appearance
from tb_privateuse1.trace.model import BOUND, Trace
from tb_privateuse1.trace.uncertainty import LOOKS
from tests.support.make import annotation, frame, kernel, launch, op, span, step, trace
from tests.support.uncertain import pair


def seen(one: Trace, table: str) -> list[tuple[str, str, str, float]]:
    number, rows = appearance.TABLES.index(table), len(getattr(one, table))
    found = appearance.appearances(
        one, np.full(rows, number, np.int8), np.arange(rows, dtype=np.int32)
    )
    return [
        (one.text(found.name[i]), appearance.CLASSES[found.kind[i]], LOOKS[found.look[i]],
         float(found.bound_ns[i]))
        for i in range(rows)
    ]  # fmt: skip


def test_recorded_ranges_are_solid() -> None:
    """Recorded ranges are drawn solid."""
    one = trace(
        step(1, 0, 100), op("a", 0, 10), annotation("b", 20, 40), launch(2, 3, 7),
        kernel("k", 5, 9, 7), kernel("ncclAllReduce", 11, 12), frame("f", 0, 50),
    )  # fmt: skip
    assert ("a", "operator", "measured", 0) in seen(one, "ops")
    assert ("b", "annotation", "measured", 0) in seen(one, "ops")
    assert [row[1:] for row in seen(one, "launches")] == [("runtime", "measured", 0)]
    assert [row[1] for row in seen(one, "kernels")] == ["kernel", "communication"]
    assert {row[2] for row in seen(one, "kernels")} == {"measured"}
    assert [row[1] for row in seen(one, "frames")] == ["frame"]
    assert [row[1] for row in seen(one, "steps")] == ["step"]


def test_calls_that_wait_for_the_device_are_synchronization() -> None:
    names = ("cudaDeviceSynchronize", "cudaStreamWaitEvent", "hipStreamSynchronize", "aclrtMalloc")
    calls = [
        span("cuda_runtime", name, 10 * i, 10 * i + 5, correlation=i)
        for i, name in enumerate(names)
    ]
    assert [row[:2] for row in seen(trace(*calls), "launches")] == [
        ("cudaDeviceSynchronize", "synchronization"),
        ("cudaStreamWaitEvent", "runtime"),
        ("hipStreamSynchronize", "synchronization"),
        ("aclrtMalloc", "runtime"),
    ]


def test_communication_and_the_data_loader_have_their_class_on_the_host_too() -> None:
    one = trace(
        annotation("gloo:all_reduce", 0, 10, 1), annotation("mine", 20, 30, 1),
        op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 40, 50, 2),
    )  # fmt: skip
    assert [row[:2] for row in seen(one, "ops")] == [
        ("gloo:all_reduce", "communication"),
        ("mine", "annotation"),
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "dataloader"),
    ]


def test_inferred_ones_are_hatched_or_hollow() -> None:
    """Inferred ranges are drawn hatched or hollow."""
    one, _ = pair(3)
    found = seen(one, "kernels")
    hollow = (one.kernels.evidence == BOUND).tolist()
    assert [row[2] for row in found] == ["bounded" if h else "inferred" for h in hollow]
    assert {"bounded", "inferred"} == {row[2] for row in found}
    assert [row[3] for row in found] == one.kernels.start_bound_ns.tolist()
