"""A clock that is low at times, and kernels that follow it or do not."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.advice.rules.clock_throttling import RULE
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64
from tests.support.program import found
from tests.support.repeats import repeats
from tests.support.throttling import HIGH_MHZ, Device, counter, falls, run

LENGTH_US = 130_000


def throttled(
    low: float = 1_200, slope: float = 1.0, noise: float = 0.01, key: str = "MHz"
) -> Trace:
    clock = falls(low=low)
    return run(Device(clock, slope, noise), *counter(clock, LENGTH_US, key=key))


def test_kernels_that_take_longer_at_a_low_clock() -> None:
    trace = throttled()
    (row,) = found(RULE, trace)
    assert row.title.startswith("The clock falls from 1,500 to 1,200: the same kernels")
    kernels = trace.kernels
    slow = kernels.start_ns // 1000 % 8_000 >= 6_000
    length = (kernels.end_ns - kernels.start_ns)[slow]
    truth = int((length * (1 - 1_200 / HIGH_MHZ)).sum())
    assert row.saving_ns is not None
    assert 0.8 * truth < row.saving_ns < 1.01 * truth  # where the device is surely awaited
    assert row.events == pytest.approx(slow.sum(), rel=0.05)  # the clock may fall inside a call
    assert "of 6 steps" in row.explanation
    late, usual = row.evidence
    assert (late.name, usual.name) == ("gemm", "gemm")
    assert str(late.note).endswith("with the clock at 1,200")
    assert str(usual.note).endswith("with the clock at 1,500")
    assert row.confidence == "medium"


@pytest.mark.parametrize("key", ["Hz", "sm_clock", "AICore Freq", "GHz"])
def test_a_clock_is_known_by_its_unit_or_a_word(key: str) -> None:
    assert len(found(RULE, throttled(key=key))) == 1


@pytest.mark.parametrize("key", ["Celsius", "percent", "hertzian"])
def test_what_is_no_clock_is_not_accused(key: str) -> None:
    clock = falls()
    assert found(RULE, run(Device(clock), *counter(clock, LENGTH_US, key=key, name="x"))) == []


@pytest.mark.long
@pytest.mark.parametrize("slope", [0.0, 0.3, 2.0])
def test_kernels_that_do_not_take_as_much_longer_have_another_reason(slope: float) -> None:
    assert found(RULE, throttled(slope=slope)) == []


@pytest.mark.long
def test_a_clock_that_hardly_falls_is_usual() -> None:
    assert found(RULE, throttled(low=1_440)) == []
    assert len(found(RULE, throttled(low=1_400))) == 1


def test_durations_that_vary_as_much_at_equal_clocks_refute_it() -> None:
    assert found(RULE, throttled(noise=0.3)) == []


def test_a_clock_at_another_time_is_not_the_reason() -> None:
    clock = falls()
    shifted = counter(lambda at: clock(at + 3_000), LENGTH_US)
    assert found(RULE, run(Device(clock), *shifted)) == []


def test_a_single_fall_may_have_another_reason() -> None:
    clock = falls(every_us=200_000, for_us=150_000)
    assert found(RULE, run(Device(clock), *counter(clock, LENGTH_US))) == []


def test_a_few_falls_tell_nothing() -> None:
    clock = falls()
    assert found(RULE, run(Device(clock), *counter(clock, LENGTH_US), steps=4)) == []
    assert len(found(RULE, run(Device(clock), *counter(clock, LENGTH_US), steps=6))) == 1


def random_counter(trace: Trace, random: np.random.Generator) -> Trace:
    """Return the trace with other values of its clock: a walk, noise, or steps at random times."""
    samples = trace.counter_samples
    count = len(samples)
    kind = random.integers(3)
    value: F64
    if kind == 0:
        value = np.cumsum(random.standard_normal(count)) * 20
    elif kind == 1:
        value = random.standard_normal(count) * 100
    else:
        value = np.where(np.cumsum(random.random(count) < 0.05) % 2 == 1, 300.0, 0.0)
    own = np.maximum(1_500 + value - value.max(), 100)
    return replace(trace, counter_samples=replace(samples, value=own))


@pytest.mark.long
def test_random_counters_never_accuse() -> None:
    """Durations that vary by chance, drift, and change now and then, beside many clocks."""
    devices = [
        Device(falls(), 0.0, 0.1),
        Device(falls(), 1.0, 0.02),
        Device(lambda at: HIGH_MHZ - at / 500, 1.0, 0.02),
        Device(falls(200_000, 150_000), 1.0, 0.02),
    ]
    traces = [run(one, *counter(lambda at: 1.0, LENGTH_US)) for one in devices]
    accused = [
        seed
        for seed in range(repeats(500))
        if found(RULE, random_counter(traces[seed % len(traces)], np.random.default_rng(seed)))
    ]
    assert accused == []
