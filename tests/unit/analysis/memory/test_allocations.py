"""Pairing by address and totals over time, against plain loops over the events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.analysis.memory.allocations import FATES, Blocks
from tb_privateuse1.trace.model import MISSING, NONE, Memory, Meta, Trace

Row = tuple[int | None, int | None]
"""Address and bytes."""


def events(rows: list[Row], totals: list[int | None] | None = None) -> Memory:
    def column(values: list[int | None]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([MISSING if v is None else v for v in values], np.int64)

    n = len(rows)
    none = np.full(n, NONE, np.int32)
    return Memory(
        ts_ns=np.arange(n) * 10,
        thread=none,
        op=none.copy(),
        device_type=np.full(n, 20),
        device=np.zeros(n, np.int64),
        address=column([address for address, _ in rows]),
        bytes=column([size for _, size in rows]),
        allocated_bytes=column(totals or [None] * n),
        reserved_bytes=column([None] * n),
        event=none.copy(),
        stack=none.copy(),
    )


def listed(blocks: Blocks) -> set[tuple[int, int, int, int | None, str]]:
    return {
        (int(b.allocation[0]), int(b.release[0]), int(b.gone[0]), int(b.bytes[0]), FATES[b.fate[0]])
        for b in (blocks.take(np.array([i])) for i in range(len(blocks)))
    }


def by_loop(rows: list[Row]) -> set[tuple[int, int, int, int | None, str]]:
    """Return the same by a loop over the events."""
    found: set[tuple[int, int, int, int | None, str]] = set()
    open_at: dict[int, int] = {}
    seen: set[int] = set()
    for i, (address, size) in enumerate(rows):
        if not size:
            continue
        if address is None:
            if size > 0:
                found.add((i, NONE, len(rows), size, "unknown"))
            continue
        before = open_at.pop(address, None)
        if size < 0 and before is not None:
            found.add((before, i, i, rows[before][1], "released"))
        elif size < 0:
            found.add((NONE, i, i, -size, "unseen" if address in seen else "earlier"))
        else:
            if before is not None:
                found.add((before, NONE, i, rows[before][1], "unreported"))
            open_at[address] = i
        seen.add(address)
    found |= {(i, NONE, len(rows), rows[i][1], "held") for i in open_at.values()}
    return found


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 4)), st.one_of(st.none(), st.integers(-3, 3))
        ),
        max_size=40,
    )
)
def test_blocks_are_those_of_a_plain_loop(rows: list[Row]) -> None:
    """Blocks equal those of a plain loop."""
    assert listed(allocations.pair_blocks(events(rows))) == by_loop(rows)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200), st.integers(10, 60))
def test_a_thinned_curve_has_the_same_extremes_and_edges(values: list[int], most: int) -> None:
    """A thinned curve has the same extremes and edges."""
    column = np.array(values)
    rows = allocations.thin_out(np.arange(len(values)) * 7, (column, -column), most)
    assert len(rows) <= most
    assert (np.diff(rows) > 0).all()
    assert {0, len(values) - 1} <= set(rows.tolist())
    assert {max(values), min(values)} <= set(column[rows].tolist())


def test_reducing_at_one_instant() -> None:
    """A thousand events within a nanosecond are one part."""
    at = np.zeros(1000, np.int64)
    column = np.arange(1000)
    assert allocations.thin_out(at, (column,), 12).tolist() == [0, 999]


def test_level_before_at_and_peak() -> None:
    """Totals give the level before, at and at the peak."""
    level = allocations.memory_level(events([(1, 5), (2, 7), (1, -5)], [105, 112, 107]))
    assert (level.has_totals, level.before) == (True, 100)
    assert [level.at(t) for t in (0, 1, 10, 11, 99)] == [100, 105, 105, 112, 107]
    assert [level.peak(*w) for w in ((0, 99), (0, 10), (20, 99))] == [1, 0, 1]
    assert level.peak(-5, 0) is None


def test_level_without_totals_is_the_sum_of_bytes() -> None:
    """Without totals the level is the sum of bytes."""
    level = allocations.memory_level(events([(None, 5), (None, None), (None, -2)]))
    assert (level.has_totals, level.before, level.allocated.tolist()) == (False, 0, [5, 5, 3])


def test_steps_of_the_total_that_no_event_explains() -> None:
    """Changes of the total without an event are counted."""
    assert allocations.explained_steps(events([(1, 5), (2, 5), (1, -5)], [5, 10, 4])) == (1, 2)
    assert allocations.explained_steps(events([(1, 5)])) == (0, 0)


@pytest.mark.parametrize(
    ("device", "backend", "label"),
    [
        ((0, -1), None, "CPU"),
        ((1, 0), "cuda", "CUDA 0"),
        ((6, 3), None, "HIP 3"),
        ((20, 1), "npu", "npu 1"),
        ((20, 0), None, "PrivateUse1 0"),
        ((20, -1), None, "PrivateUse1"),
        ((99, 2), None, "Device type 99 2"),
        ((int(MISSING), int(MISSING)), None, "Unnamed device"),
    ],
)
def test_labels(device: tuple[int, int], backend: str | None, label: str) -> None:
    """Devices have a name for people."""
    assert allocations.device_label(Trace(meta=Meta(backend=backend)), device) == label
