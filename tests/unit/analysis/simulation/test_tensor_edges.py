"""Edges of the graph between streams, by the tensors of an execution trace."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.simulation import (
    baseline,
    changes,
    dependency_graph,
    excerpt,
    prediction,
    stream_edges,
)
from tb_privateuse1.trace.model import READ, RETURNED, WRITTEN, Tensors, Trace
from tests.support.make import kernel, launch, op, span, step, trace

Use = tuple[str, int, int]
"""An operator, how it uses a storage, and the storage."""


def program(*uses: Use, later: float = 66) -> Trace:
    """The second stream begins as ``later`` says; its launch was long before."""
    made = trace(
        step(1, 0, 200),
        op("aten::mm", 0, 10, id=1), launch(1, 2, 1), kernel("first", 6, 60, 1, stream=7),
        op("aten::add", 12, 20, id=2), launch(13, 14, 2),
        kernel("second", later, 90, 2, stream=8),
        op("aten::mul", 22, 30, id=3), launch(23, 24, 3), kernel("third", 94, 99, 3, stream=8),
        op("aten::view", 32, 34, id=4),
    )  # fmt: skip
    return with_tensors(made, *uses)


def with_tensors(made: Trace, *uses: Use) -> Trace:
    """The trace with what an execution trace says of its operators."""
    rows = {made.text(name): row for row, name in enumerate(made.ops.name.tolist())}
    count = len(uses)
    tensors = Tensors(
        op=np.array([rows[name] for name, _, _ in uses], np.int32),
        access=np.array([access for _, access, _ in uses], np.int8),
        argument=np.zeros(count, np.int32),
        storage=np.array([storage for _, _, storage in uses], np.int32),
        offset=np.zeros(count, np.int64),
        elements=np.ones(count, np.int64),
        item_bytes=np.full(count, 4, np.int64),
        device_name=np.full(count, -1, np.int32),
    )
    return replace(made, tensors=tensors)


def edges(made: Trace) -> list[tuple[str, str]]:
    name = made.kernels.name
    return [
        (made.text(name[one]), made.text(name[other]))
        for one, other in zip(*stream_edges.tensor_edges(made), strict=True)
    ]


MADE: Use = ("aten::mm", RETURNED, 5)


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ((MADE, ("aten::add", READ, 5)), [("first", "second")]),
        ((("aten::mm", WRITTEN, 5), ("aten::add", WRITTEN, 5)), [("first", "second")]),
        ((MADE, ("aten::add", READ, 6)), []),
        ((MADE, ("aten::add", RETURNED, 5)), []),  # nothing of it is read
        ((("aten::mm", READ, 5), ("aten::add", READ, 5)), []),  # neither writes
        ((("aten::add", RETURNED, 5), ("aten::mm", READ, 5)), []),  # read before
        ((MADE, ("aten::view", RETURNED, 5), ("aten::mul", READ, 5)), [("first", "third")]),
        ((MADE, ("aten::add", WRITTEN, 5), ("aten::mul", READ, 5)), [("first", "second")]),
        ((("aten::mm", RETURNED, -1), ("aten::add", READ, -1)), []),
        ((), []),
    ],
)  # fmt: skip
def test_what_is_read_comes_from_its_last_writer(
    uses: tuple[Use, ...], expected: list[tuple[str, str]]
) -> None:
    assert edges(program(*uses)) == expected


def test_activities_that_overlap_depend_on_each_other_in_no_way() -> None:
    assert edges(program(MADE, ("aten::add", READ, 5), later=50)) == []


def test_a_longer_writer_delays_the_reader_where_time_shows_nothing() -> None:
    """The host was late: only the tensors say that the second stream reads what the first made."""
    late = trace(
        step(1, 0, 200),
        op("aten::mm", 0, 10, id=1), launch(1, 2, 1), kernel("first", 6, 30, 1, stream=7),
        op("aten::add", 55, 64, id=2), launch(60, 62, 2), kernel("second", 66, 90, 2, stream=8),
        span("cuda_runtime", "cudaDeviceSynchronize", 70, 92),
    )  # fmt: skip

    def gain(made: Trace) -> int:
        graph = dependency_graph.build_graph(made)
        base = baseline.replay_baseline(made, graph)
        change = changes.parse_changes(made, "kernel:first=4")
        return prediction.predict(made, graph, base, change).mean(np.array([0])).gain_ns

    assert gain(with_tensors(late, MADE, ("aten::add", READ, 5))) < gain(late)


def test_an_excerpt_has_the_tensors_of_its_operators() -> None:
    made = program(MADE, ("aten::add", READ, 5))
    part = excerpt.cut_excerpt(made, np.array([0]), 10**6)
    assert part is not None
    assert edges(part.trace) == [("first", "second")]
