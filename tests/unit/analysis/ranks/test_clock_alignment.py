"""One clock for all ranks by the ends of collectives."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks import clock_alignment, collectives
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64
from tests.support.make import step, trace

LABEL = collectives.Label("all_reduce", "0", "dp", on_host=False)


def part(
    ends: I64, base_ns: int = 0, group: str = "0", other: I64 | None = None
) -> collectives.RankPart:
    """Build a rank with a step of collectives with these ends, and others of a second group."""
    more = np.empty(0, np.int64) if other is None else other
    n, m = len(ends), len(more)
    alone = collectives.reduce_trace(trace(step(0, 0, 1000)))
    shapes = tuple(
        collectives.Shape(replace(LABEL, group=name), None, None) for name in (group, "tp")
    )
    return collectives.RankPart(
        "measured", base_ns, ("f",), None, None, False, alone.steps, shapes,
        collectives.Calls(
            np.zeros(n + m, np.int32), np.repeat([0, 1], [n, m]).astype(np.int32),
            np.full(n + m, 1000), np.concatenate((ends, more)),
        ),
        alone.host,
    )  # fmt: skip


def found(*parts: collectives.RankPart) -> clock_alignment.Clocks:
    return clock_alignment.align_clocks(parts, collectives.match_calls(parts))


def test_ends_that_agree_give_the_shift_exactly() -> None:
    """Equal ends give exact shifts."""
    ends = np.arange(1, 40) * 1_000_000
    one = found(part(ends), part(ends - 250_000), part(ends + 7))
    assert one.shift_ns.tolist() == [0, 250_000, -7]
    assert one.residual_ns.tolist() == [0, 0, 0]
    assert one.ties.tolist() == [39] * 3


def test_the_offset_counts_from_absolute_times() -> None:
    """Rank 1's trace starts 1 s later, by a clock that is 3 ms ahead."""
    ends = np.arange(2, 40) * 1_000_000_000
    late = part(ends - 1_000_000_000, base_ns=1_700_000_001_003_000_000)
    one = found(part(ends, base_ns=1_700_000_000_000_000_000), late)
    assert one.offset_ns.tolist() == [0, 3_000_000]
    assert one.shift_ns.tolist() == [0, 1_000_000_000]


def test_the_residual_is_what_ends_disagree_by() -> None:
    """The residual is the disagreement of ends."""
    random = np.random.default_rng(3)
    ends = np.cumsum(random.integers(100_000, 900_000, 2000))
    noisy = [ends + random.normal(0, 2000, 2000).astype(np.int64) + 5000 * r for r in range(8)]
    one = found(*map(part, noisy))
    assert one.shift_ns.tolist() == pytest.approx([-5000 * r for r in range(8)], abs=250)
    for residual in one.residual_ns:
        assert residual == pytest.approx(1.96 * 2000 * np.sqrt(7 / 8), rel=0.12)


def test_a_few_far_ends_move_nothing() -> None:
    """A few outliers do not change the shift."""
    ends = np.arange(1, 201) * 1_000_000
    random = np.random.default_rng(5)
    other = ends + 300 + random.integers(-20, 20, 200)
    other[::50] += 900_000
    one = found(part(ends), part(other))
    assert one.shift_ns[1] == pytest.approx(-300, abs=5)
    assert np.flatnonzero(one.apart).tolist() == [0, 50, 100, 150]
    assert one.residual_ns[1] < 20


def test_wrong_matches_are_detected_and_excluded() -> None:
    """Half of the calls differ, as in traces with dropped events."""
    ends = np.arange(1, 11) * 100_000_000
    other = ends + np.array([-3, 2, -1, 1, 0, 1, -238, -68, 62, 134]) * 1_000_000 // 10
    calls = collectives.match_calls([part(ends), part(other)])
    one = clock_alignment.align_clocks([part(ends), part(other)], calls)
    assert np.flatnonzero(one.apart).tolist() == [6, 7, 8, 9]
    left = collectives.drop_matches(calls, one.apart)
    assert np.bincount(left.match[left.match >= 0]).tolist() == [2] * 6
    assert (left.match[:10] >= 0).tolist() == (~one.apart).tolist()
    assert left.last.sum() == 6


def test_all_reduces_of_different_sizes_are_not_the_same() -> None:
    """One rank's trace lacks a call: behind it, each is taken for the next one."""
    ends = np.arange(1, 13) * 100_000_000
    sizes = np.array([4, 8, 8, 4, 8, 4, 4, 8, 4, 8, 8, 4])
    whole = sized(part(ends), sizes)
    lacks = sized(
        part(np.append(np.delete(ends, 3), 1_300_000_000)), np.append(np.delete(sizes, 3), 8)
    )
    calls = collectives.match_calls([whole, lacks])
    found = clock_alignment.align_clocks([whole, lacks], calls)
    differ = sizes != np.append(np.delete(sizes, 3), 8)
    assert differ.sum() == 7
    assert found.apart[differ].all()
    assert not found.apart[:3].any()
    same = clock_alignment.align_clocks([whole, whole], collectives.match_calls([whole, whole]))
    assert not same.apart.any()


def sized(of: collectives.RankPart, sizes: I64) -> collectives.RankPart:
    """Return the same with calls of these bytes; there are 4 and 8."""
    shapes = tuple(collectives.Shape(LABEL, None, size) for size in (4, 8))
    calls = replace(of.calls, shape=(sizes == 8).astype(np.int32))
    return replace(of, shapes=shapes, calls=calls)


def test_ends_within_the_transfer_are_the_same() -> None:
    """Durations of 1000 ns: ends 400 ns apart are one collective, however well others agree."""
    ends = np.arange(1, 50) * 1_000_000
    other = ends + np.where(np.arange(49) == 7, 400, 0)
    assert not found(part(ends), part(other)).apart.any()


def test_ranks_are_tied_over_others() -> None:
    """0 and 1 share a group, 1 and 2 another one; 3 has nothing in common with any."""
    a, b = np.arange(1, 20) * 1_000_000, np.arange(1, 20) * 1_300_000
    alone = part(a, group="none")
    one = found(part(a), part(a - 100, other=b - 100), part(b[:0], other=b - 900), alone)
    assert one.shift_ns.tolist() == [0, 100, 900, MISSING]
    assert one.residual_ns.tolist() == [0, 0, 0, MISSING]
    assert one.ties.tolist() == [19, 38, 19, 0]


def test_without_anything_in_common() -> None:
    """Without common collectives there is no shift."""
    assert found(part(np.arange(3))).shift_ns.tolist() == [MISSING]
    assert found().shift_ns.tolist() == []
