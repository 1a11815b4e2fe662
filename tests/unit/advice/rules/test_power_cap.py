"""A clock that falls at a limit of power, and one that falls for another reason."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.advice.rules import clock_throttling
from tb_privateuse1.advice.rules.power_cap import RULE
from tb_privateuse1.trace.model import Trace
from tests.support.program import found
from tests.support.throttling import HIGH_MHZ, Curve, Device, counter, falls, run

LENGTH_US = 130_000
CLOCK = falls()


def with_power(power: Curve, key: str = "W", name: str = "Board") -> Trace:
    values = counter(power, LENGTH_US, key=key, name=name)
    return run(Device(CLOCK), *counter(CLOCK, LENGTH_US), *values)


def at_limit(at: float) -> float:
    """700 W while the clock is low, 600 W while it is high."""
    return 700.0 if CLOCK(at) < HIGH_MHZ else 600.0


@pytest.mark.parametrize(("key", "name"), [("W", "Board"), ("value", "power_usage"), ("mW", "x")])
def test_power_at_its_greatest_while_the_clock_is_low(key: str, name: str) -> None:
    trace = with_power(at_limit, key, name)
    (row,) = found(RULE, trace)
    assert row.title.startswith("A power limit lowers the clock")
    assert name in row.explanation
    assert "is at its greatest, 700" in row.explanation
    assert found(clock_throttling.RULE, trace) == []  # one cause, one finding


def test_one_that_is_as_high_while_the_clock_is_high_is_not_the_reason() -> None:
    trace = with_power(lambda at: 700.0)
    assert found(RULE, trace) == []
    assert len(found(clock_throttling.RULE, trace)) == 1


def test_heat_lowers_the_power_with_the_clock() -> None:
    assert found(RULE, with_power(lambda at: 1_300 - at_limit(at))) == []


def test_power_within_3_percent_is_at_its_limit() -> None:
    assert len(found(RULE, with_power(lambda at: at_limit(at) - 15 * (at % 1_000 > 0)))) == 1
    assert found(RULE, with_power(lambda at: at_limit(at) - 30 * (at % 1_000 > 0))) == []


@pytest.mark.long
def test_power_at_random_is_not_the_reason() -> None:
    random = np.random.default_rng(1)
    assert found(RULE, with_power(lambda at: float(random.uniform(500, 700)))) == []


def test_other_counters_are_no_power() -> None:
    assert found(RULE, with_power(at_limit, "Celsius", "Temperature")) == []


def test_power_alone_without_a_clock_says_nothing() -> None:
    assert found(RULE, run(Device(CLOCK), *counter(at_limit, LENGTH_US, key="W"))) == []
