"""Iterations by steps, annotations and repetition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.recording.iterations import iterations
from tb_privateuse1.trace.model import Trace
from tests.support.program import Program, device_bound


def layers(run: Program, count: int) -> None:
    """Add a forward pass of equal layers between an embedding and a head."""
    run.op("aten::embedding", 5, kernel=5, device="embedding")
    for _ in range(count):
        run.op("aten::mm", 5, kernel=5, device="gemm")
        run.op("aten::add", 5, kernel=5, device="add")
    run.op("aten::softmax", 5, kernel=5, device="softmax")


def test_steps_are_the_iterations() -> None:
    found = iterations(device_bound(steps=4).trace())
    assert found is not None
    assert (found.source, len(found.start_ns)) == ("steps", 4)


def test_annotations_that_repeat_are_iterations() -> None:
    run = Program()
    for i in range(5):
        with run.range(f"step[DECODE bs={i}]"):
            layers(run, 3)
    found = iterations(run.trace())
    assert found is not None
    assert (found.source, len(found.start_ns)) == ("annotations", 5)


@pytest.mark.long
@given(st.integers(2, 8), st.integers(1, 6))
def test_a_repeated_sequence_of_launches_has_iterations(count: int, depth: int) -> None:
    run = Program()
    for _ in range(count):
        layers(run, depth)
    found = iterations(run.trace())
    assert found is not None
    assert (found.source, len(found.start_ns)) == ("repetition", count)


@pytest.mark.parametrize("depth", [1, 4, 30])
def test_layers_of_a_single_pass_are_no_iterations(depth: int) -> None:
    run = Program()
    layers(run, depth)
    assert iterations(run.trace()) is None


def test_operators_repeat_on_a_host_without_launches() -> None:
    run = Program()
    for _ in range(4):
        for name in ("aten::mm", "aten::add", "aten::relu"):
            run.op(name, 5)
    found = iterations(run.trace())
    assert found is not None
    assert (found.source, len(found.start_ns)) == ("repetition", 4)


def test_nothing_has_no_iterations() -> None:
    assert iterations(Trace()) is None
