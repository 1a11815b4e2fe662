"""Durations on a device whose speed changes during the recording."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.inference.device_timeline.device_speed import relative_slowness
from tb_privateuse1.trace.model import BOUND, CATALOGUE
from tb_privateuse1.trace.table import I64
from tests.support.simulate import Op, Result, simulate, step

US = 1_000
NAMES = ("add", "mul", "sub", "div", "exp", "tanh", "relu", "gelu", "sin", "cos", "erf", "log")
SHAPES = {"Input Dims": [[16, 16]]}


def program(slowness: list[float]) -> list[Op]:
    """Return steps on a device that is behind, and then waits for the host."""
    rest = Op("rest", 1_500 * US, 0, category="user_annotation")
    long = Op("aten::mm", 4 * US, US, 300 * US)
    steps = []
    for number, slow in enumerate(slowness):
        kernels = [int((20 + 2 * i) * US * slow) for i in range(len(NAMES))]
        work = zip(NAMES, kernels, strict=True)
        calls = [(f"aten::{name}", kernel) for name, kernel in work]
        behind = [Op(name, 4 * US, US, kernel) for name, kernel in calls]
        waits = [Op(name, 20 * US, 100 * US, kernel) for name, kernel in calls]
        steps.append(step(number, long, *behind, long, rest, *waits))
    return steps


def hidden_errors(result: Result) -> I64:
    """Return by how much longer than in truth the kernels without own durations are shown."""
    trace, kernels = result.trace, result.trace.kernels
    assert trace.ops.external_id[kernels.op].tolist() == result.ids.tolist()
    longer = kernels.end_ns - kernels.start_ns - (result.end_ns - result.start_ns)
    assert (np.abs(longer) <= kernels.duration_bound_ns).all()
    hidden = np.isin(kernels.evidence, (CATALOGUE, BOUND))
    assert hidden.sum() > len(kernels) // 4
    return longer[hidden]


@pytest.mark.parametrize("slowness", [[1.0] * 10, [1.0] * 5 + [1.5] * 5, [1.5] * 4 + [1.0] * 6])
def test_hidden_kernels_take_as_long_as_neighbors_in_time(slowness: list[float]) -> None:
    """Over the whole recording, their medians are those of neither half: 9 to 20 us off.

    Just before the change, nothing tells when the device gets slower.
    """
    errors = hidden_errors(simulate(program(slowness), shapes=SHAPES))
    assert np.percentile(np.abs(errors), 80) <= 2 * US


def kernels(count: int, keys: int) -> tuple[I64, I64, I64]:
    """Return keys in turns, lengths of 10 us and more with 1 us of rounding, and times."""
    key = np.arange(count) % keys
    length = (10 + 3 * key) * US + np.random.default_rng(0).integers(-500, 500, count)
    return key, length, np.arange(count) * 30 * US


def test_a_steady_device_is_steady() -> None:
    key, length, at = kernels(600, 20)
    assert relative_slowness(key, length, np.ones(600, np.bool_), at) is None


def test_the_slowness_is_that_of_visible_neighbors() -> None:
    key, length, at = kernels(600, 20)
    slow = 1 + 0.5 * np.sin(at / at[-1] * 6) ** 2
    seen = np.random.default_rng(1).random(600) < 0.5
    measured = relative_slowness(key, (length * slow).astype(np.int64), seen, at)
    assert measured is not None
    ratio = measured / slow
    assert np.abs(ratio / np.median(ratio) - 1).max() < 0.12


@pytest.mark.parametrize("grows", [1, 4])
def test_work_that_grows_is_not_the_device(grows: int) -> None:
    """Only some operators take longer: the others show that the device does not."""
    key, length, at = kernels(600, 20)
    length = np.where(key < grows, length * (1 + at / at[-1]), length).astype(np.int64)
    assert relative_slowness(key, length, np.ones(600, np.bool_), at) is None


def test_few_kernels_show_no_change() -> None:
    key, length, at = kernels(20, 5)
    slower = np.where(at > at[10], 2 * length, length)
    assert relative_slowness(key, slower, np.ones(20, np.bool_), at) is None
    assert relative_slowness(key[:0], length[:0], np.ones(0, np.bool_), at[:0]) is None
