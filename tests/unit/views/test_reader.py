"""What a view reads: a trace, its base, or all ranks with a little memory and progress."""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery import catalog as discovery_catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.memory_budget import MemoryBudget, size_bytes
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import REDUCTIONS
from tb_privateuse1.views.base import Rank
from tb_privateuse1.views.reader import Reader, Selection
from tests.support.trace_files import trace, write


def distributed(ranks: tuple[Rank, ...], *, step: int | None = None) -> tuple[Rank, ...]:
    """A view of all ranks by the name of one that has a reduction."""
    return ranks


def both(trace: Trace, base: Trace) -> tuple[str, ...]:
    return trace.meta.files + base.meta.files


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for rank in range(4):
        trace(tmp_path / "r" / f"host_{rank}.1.pt.trace.json", rank=rank)
    trace(tmp_path / "r" / "host_0.2.pt.trace.json", rank=0)
    trace(tmp_path / "s" / "other_0.1.pt.trace.json", rank=0)
    return tmp_path


class Slow(Store):
    """A store whose traces become ready one by one."""

    def __init__(self) -> None:
        super().__init__(jobs=0)
        self.asked: list[str] = []
        self.ready: set[str] = set()

    def trace(self, files: TraceFiles, wait_s: float | None = None) -> Trace:
        self.asked.append(files.trace.name)
        if files.trace.name in self.ready:
            return super().trace(files, None)
        raise Pending(Progress("reading", 10, files.trace.size, 5, 1.0))


def test_all_ranks_of_a_span(log: Path) -> None:
    reader, catalog = Reader(Store(jobs=0)), discovery_catalog.scan(str(log))
    found = reader.run(distributed, catalog, Selection("r", span=1))
    assert [r.rank for r in found] == [0, 1, 2, 3]
    assert all(r.part is not None and r.problem is None for r in found)
    latest = reader.run(distributed, catalog, Selection("r"))
    assert [r.part is None for r in latest] == [False, True, True, True]
    assert latest[1].problem.code == "unknown_span"
    with pytest.raises(TraceError, match="There is no span 7"):
        reader.run(distributed, catalog, Selection("r", span=7))
    with pytest.raises(TraceError, match="There is no run x"):
        reader.run(distributed, catalog, Selection("x"))


def test_a_rank_that_cannot_be_read_does_not_hide_the_others(log: Path) -> None:
    cut = log / "r" / "host_2.1.pt.trace.json"
    catalog = discovery_catalog.scan(str(log))
    cut.write_text("nothing")
    found = Reader(Store(jobs=0)).run(distributed, catalog, Selection("r", span=1))
    assert [r.part is None for r in found] == [False, False, True, False]
    assert found[2].problem is not None
    assert found[2].problem.message


def test_each_trace_is_reduced_once(log: Path) -> None:
    store = Slow()
    store.ready = {f"host_{rank}.1.pt.trace.json" for rank in range(4)}
    reader, catalog = Reader(store), discovery_catalog.scan(str(log))
    first = reader.run(distributed, catalog, Selection("r", span=1))
    again = reader.run(distributed, catalog, Selection("r", span=1), wait_s=5)
    assert [r.part for r in first] == [r.part for r in again]
    assert len(store.asked) == 4
    trace(log / "r" / "host_1.1.pt.trace.json", rank=1, name="aten::changed_and_longer")
    reader.run(distributed, discovery_catalog.scan(str(log)), Selection("r", span=1))
    assert store.asked[4:] == ["host_1.1.pt.trace.json"]


def test_progress_is_that_of_all_and_what_is_done_stays(log: Path) -> None:
    store = Slow()
    reader, catalog = Reader(store), discovery_catalog.scan(str(log))
    sizes = {f.trace.name: f.trace.size for f in catalog.files.values()}

    def pending(wait_s: float) -> Progress:
        with pytest.raises(Pending) as error:
            reader.run(distributed, catalog, Selection("r", span=1), wait_s=wait_s)
        return error.value.progress

    before = pending(0.2)
    assert (before.phase, before.traces, before.traces_done) == ("reading", 4, 0)
    assert before.bytes_total == sum(sizes[f"host_{rank}.1.pt.trace.json"] for rank in range(4))
    assert (before.bytes_done, before.events) == (40, 20)
    store.ready = {f"host_{rank}.1.pt.trace.json" for rank in (0, 3)}
    assert pending(0.2).traces_done == 2
    store.asked.clear()
    assert pending(0.2).traces_done == 2
    assert not store.ready & set(store.asked)
    store.ready |= {f"host_{rank}.1.pt.trace.json" for rank in (1, 2)}
    assert len(reader.run(distributed, catalog, Selection("r", span=1), wait_s=5)) == 4


def test_a_base_may_be_elsewhere(log: Path, tmp_path: Path) -> None:
    reader, catalog = Reader(Store(jobs=0)), discovery_catalog.scan(str(log))
    found = reader.run(both, catalog, Selection("r", 1), Selection("s"))
    assert found == ("host_1.1.pt.trace.json", "other_0.1.pt.trace.json")
    same = reader.run(both, catalog, Selection("r", 0, 2), Selection("r", 0, 1))
    assert same == ("host_0.2.pt.trace.json", "host_0.1.pt.trace.json")
    far = discovery_catalog.scan(
        str(write(tmp_path / "far" / "b.1.pt.trace.json", {"traceEvents": []}))
    )
    elsewhere = reader.run(both, catalog, Selection("r", 1), base_catalog=far)
    assert elsewhere == ("host_1.1.pt.trace.json", "b.1.pt.trace.json")


def test_options_arrive(log: Path) -> None:
    def trace_and(trace: Trace, *, n: int = 1) -> Any:
        return n

    assert (
        Reader(Store(jobs=0)).run(trace_and, discovery_catalog.scan(str(log)), asked={"n": 5}) == 5
    )


def test_parts_are_small(log: Path) -> None:
    found = Reader(Store(jobs=0)).run(
        distributed, discovery_catalog.scan(str(log)), Selection("r", span=1)
    )
    assert not any(isinstance(v, Trace) for r in found for v in vars(r.part).values())
    assert dataclasses.is_dataclass(found[0].part)


def test_what_is_kept_of_traces_is_bounded(log: Path) -> None:
    store = Slow()
    store.ready = {f"host_{rank}.1.pt.trace.json" for rank in range(4)}
    memory = MemoryBudget()
    reader, catalog = Reader(store, memory=memory), discovery_catalog.scan(str(log))
    found = reader.run(distributed, catalog, Selection("r", span=1))
    size = size_bytes(found[0].part)
    assert size > sum(v.nbytes for v in vars(found[0].part.calls).values())
    assert memory.bytes == sum(size_bytes(rank.part) for rank in found)
    few = MemoryBudget(2 * size + size // 2)
    narrow = Reader(store, memory=few)
    assert len(narrow.run(distributed, catalog, Selection("r", span=1))) == 4
    assert len(few.keys(narrow)) == 2


def test_two_views_that_read_the_same_ranks_reduce_them_once(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the same time, and though what they compute of them differs."""
    reduced: list[int | None] = []
    reduce = REDUCTIONS["distributed"]
    together = threading.Barrier(2)

    def count(trace: Trace) -> Any:
        reduced.append(trace.meta.rank)
        return reduce(trace)

    def clock(ranks: tuple[Rank, ...]) -> tuple[Rank, ...]:
        return ranks

    for name in ("distributed", "clock"):
        monkeypatch.setitem(REDUCTIONS, name, count)
    reader, catalog = Reader(Store(jobs=0)), discovery_catalog.scan(str(log))

    def ask(view: Any) -> int:
        together.wait(20)
        return len(reader.run(view, catalog, Selection("r", span=1)))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, (distributed, clock))) == [4, 4]
    assert sorted(reduced, key=str) == [0, 1, 2, 3]
