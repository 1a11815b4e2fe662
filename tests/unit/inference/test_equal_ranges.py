"""Nesting of ranges that start in the same microsecond."""

import pytest

from tb_privateuse1.trace.model import Trace
from tests.support.make import frame, op, trace
from tests.support.shared_traces import FOLDER, needs_traces, read


def _parents(t: Trace) -> dict[int, int]:
    """Return the External id of each operator's parent, by its own; 0 for none."""
    ids = t.ops.external_id
    up = t.ops.parent.tolist()
    return {int(i): int(ids[u]) if u >= 0 else 0 for i, u in zip(ids, up, strict=True)}


def test_empty_ranges_of_one_name_are_siblings() -> None:
    t = trace(op("outer", 0, 40, 1), op("same", 5, 5, 2), op("same", 5, 5, 3), op("same", 5, 5, 4))
    assert _parents(t) == {1: 0, 2: 1, 3: 1, 4: 1}


def test_an_empty_range_is_not_inside_one_that_began_later() -> None:
    t = trace(op("outer", 0, 40, 1), op("item", 5, 5, 2), op("select", 5, 6, 3))
    assert _parents(t) == {1: 0, 2: 1, 3: 1}


def test_a_range_with_length_encloses_what_began_after_it() -> None:
    t = trace(op("outer", 0, 40, 1), op("select", 5, 6, 2), op("as_strided", 5, 5, 3))
    assert _parents(t) == {1: 0, 2: 1, 3: 2}
    same = trace(op("conv", 0, 9, 1), op("conv", 0, 9, 2))
    assert _parents(same) == {1: 0, 2: 1}


def test_ids_tell_the_outer_one_whatever_the_files_order() -> None:
    t = trace(
        op("inner", 5, 9, 2), op("outer", 5, 9, 1), op("to", 20, 25, 4), op("copy", 20, 25, 5)
    )
    assert _parents(t) == {1: 0, 2: 1, 4: 0, 5: 4}


@pytest.mark.parametrize(("inside", "parent"), [(True, 2), (False, 0)])
def test_other_calls_tell_of_empty_ranges(inside: bool, parent: int) -> None:
    end = 18 if inside else 30
    known = [op("to", 10, 20, 8), op("copy", end - 3, end, 9)]
    assert _parents(trace(op("to", 5, 5, 2), op("copy", 5, 5, 3), *known))[3] == parent


def test_without_ids_and_evidence_nothing_changes() -> None:
    t = trace(op("a", 5, 5, -1), op("b", 5, 5, -1), frame("f", 5, 5))
    assert t.ops.parent.tolist() == [-1, 0]


@needs_traces
def test_the_case_of_siblings() -> None:
    t = read(FOLDER.parent / "cases" / "same-microsecond-siblings" / "trace.json")
    assert sorted(set(t.ops.parent.tolist())) == [-1, 0]
    assert not t.ops.single.any()
