"""Groups of parts: merged in any tree they are the same bytes, and never of other traces."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import cache_directory, part_file, part_groups
from tb_privateuse1.storage.arrow_file import Content
from tb_privateuse1.vendors.user_file import OURS
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reduced_traces import Rank
from tests.support.rank_runs import FINE, STEPS
from tests.support.rank_runs import rank as rank_of
from tests.support.same import values
from tests.support.trace_files import trace
from tests.unit.storage.test_part_file import some

Tree = Any
"""A rank, or a list: a node that merges what is below it."""

TREES: st.SearchStrategy[Tree] = st.recursive(
    st.integers(0, 7), lambda below: st.lists(below, max_size=4), max_leaves=12
)
PARTS = [some(rank, computes=3000 + 40 * rank) for rank in range(8)]


def merged(tree: Tree) -> Content:
    if isinstance(tree, int):
        return part_file.pack(PARTS[tree])
    return part_file.combine([merged(below) for below in tree])


def leaves(tree: Tree) -> list[int]:
    return [tree] if isinstance(tree, int) else [one for below in tree for one in leaves(below)]


def same(one: Content, other: Content) -> bool:
    return one.head == other.head and all(
        np.array_equal(a, b)
        for name, table in one.tables.items()
        for (_, a), (_, b) in zip(table.columns(), other.tables[name].columns(), strict=True)
    )


def answer(parts: tuple[RankPart, ...]) -> bytes:
    """Return the page of all ranks."""
    return encode(distributed(tuple(Rank(i, f"w{i}", part) for i, part in enumerate(parts))))


@pytest.mark.long
@given(tree=TREES)
def test_a_tree_gives_the_same_bytes_as_all_at_once(tree: Tree) -> None:
    flat = [PARTS[rank] for rank in leaves(tree)]
    found = merged(tree)
    assert same(found, part_file.combine([*map(part_file.pack, flat)]))
    assert values(part_file.unpack(found)) == values(tuple(flat))
    assert answer(part_file.unpack(found)) == answer(tuple(flat))


@pytest.fixture
def traces(tmp_path: Path) -> list[TraceFiles]:
    for rank in range(8):
        trace(tmp_path / "log" / f"host_{rank}.1.pt.trace.json", rank=rank)
    return list(catalog.scan(str(tmp_path / "log"), READERS).files.values())


def test_what_is_found_is_what_was_kept(traces: list[TraceFiles], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert part_groups.find_group(traces, cache, OURS) == ()
    part_groups.keep_group(traces, PARTS, cache, OURS)
    assert values(part_groups.find_group(traces, cache, OURS)) == values(tuple(PARTS))
    (path,) = cache.iterdir()
    assert cache_directory.disk_use(cache).parts == 1
    for others in (traces[:7], traces[::-1]):
        assert part_groups.find_group(others, cache, OURS) == ()
    os.truncate(path, path.stat().st_size // 2)
    assert part_groups.find_group(traces, cache, OURS) == ()
    assert not path.exists()


def test_a_trace_that_changed_has_another_group(traces: list[TraceFiles], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    part_groups.keep_group(traces, PARTS, cache, OURS)
    trace(Path(traces[3].trace.path), rank=3, name="aten::another")
    assert part_groups.find_group(traces, cache, OURS) == ()
    (path,) = cache.iterdir()
    part_groups.keep_group(traces, PARTS, cache, OURS)
    assert list(cache.iterdir()) == [path], "the parts are of the trace as it was"
    Path(traces[3].trace.path).unlink()
    assert part_groups.find_group(traces, cache, OURS) == ()


def test_no_room_and_texts_that_cannot_be_stored_are_no_matter(
    traces: list[TraceFiles], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    part_groups.keep_group(traces, PARTS, tmp_path / "file", OURS)
    odd = replace(PARTS[0], hostname="half \ud800")
    part_groups.keep_group(traces, [odd, *PARTS[1:]], tmp_path / "cache", OURS)
    assert part_groups.find_group(traces, tmp_path / "cache", OURS) == ()


def test_the_ranks_of_the_tests_differ() -> None:
    assert rank_of(0, [FINE] * STEPS, [4000] * STEPS, transfer=100)
    assert len({repr(values(part)) for part in PARTS}) == len(PARTS)
