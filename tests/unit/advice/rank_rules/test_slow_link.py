"""Large collectives far below the bandwidth of links."""

from __future__ import annotations

import pytest

from tb_privateuse1.views.distributed import distributed
from tests.support.rank_runs import FINE, STEPS, found, rank, run
from tests.support.results import ranks

LARGE = 16 << 20


def titles(gb_per_s: float, size: int = LARGE) -> list[str]:
    """Return the titles; with two ranks, bus bytes equal the call's, and steps take 60 ms."""
    result = run(FINE, FINE, transfer=size / gb_per_s / 1000, bytes=size, length=60_000)
    return [row.title for row in found(result, "slow_link")]


def test_sockets_are_found() -> None:
    assert titles(0.5) == ["all-reduce of group 0 at 0.5 GB/s: 55.9 % of the time"]


@pytest.mark.parametrize(("gb_per_s", "speaks"), [(1.26, False), (1.24, True)])
def test_below_ten_gigabits(gb_per_s: float, speaks: bool) -> None:
    assert bool(titles(gb_per_s)) == speaks


def test_small_calls_tell_nothing() -> None:
    assert titles(0.5, size=LARGE - 4) == []


def two_groups(fast_us: float, slow_us: float) -> list[str]:
    meets, took = [3010.0] * STEPS, (fast_us, fast_us, slow_us, slow_us)
    more = {"bytes": LARGE, "world": 2}
    made = [
        rank(i, [FINE] * STEPS, meets, transfer=took[i], group="aabb"[i], **more) for i in range(4)
    ]
    return [row.title for row in found(distributed(ranks(*made)), "slow_link")]


@pytest.mark.parametrize(("slow_us", "speaks"), [(3900, False), (4100, True)])
def test_a_quarter_of_the_bandwidth_of_another_group(slow_us: float, speaks: bool) -> None:
    (title,) = two_groups(1000, slow_us)
    assert ("of group b at" in title) == speaks


@pytest.mark.parametrize(("slow_us", "speaks"), [(1150, False), (1250, True)])
def test_a_group_slower_than_its_siblings_in_all_steps(slow_us: float, speaks: bool) -> None:
    titles = two_groups(1000, slow_us)
    assert bool(titles) == speaks
    assert all("Group b transfers 2.50 % of the step longer" in title for title in titles)
