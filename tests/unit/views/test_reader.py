"""What a view reads: a trace, its base, or all ranks with a little memory and progress."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import asdict

from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.discovery import catalog as discovery_catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import part_groups
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.memory_budget import MemoryBudget, size_bytes
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.reduced_traces import Rank, keep
from tb_privateuse1.views.request import Request, Selection
from tb_privateuse1.views.signature import reduces
from tb_privateuse1.views.sources import all_ranks, trace_parts
from tests.support.same import values
from tests.support.stored_parts import stored_parts
from tests.support.trace_files import trace, write

WAIT_S = 20.0


@reduces(reduce_trace)
def distributed(ranks: tuple[Rank, ...], *, step: int | None = None) -> tuple[Rank, ...]:
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


def waiting(wait_s: float) -> Request:
    """A request of span 1 with a deadline."""
    deadline_s = time.monotonic() + wait_s
    return Request(distributed, Selection("r", span=1), deadline_s=deadline_s)


class Slow(Store):
    """A store whose parts become ready one by one."""

    def __init__(self, cache_dir: Path | None = None) -> None:
        super().__init__(jobs=0, cache_dir=cache_dir)
        self.asked: list[str] = []
        self.ready: set[str] = set()

    def part(self, files: TraceFiles, wait_s: float | None = None) -> RankPart:
        self.asked.append(files.trace.name)
        if files.trace.name in self.ready:
            return super().part(files, None)
        raise Pending(Progress("reading", 10, files.trace.size, 5, 1.0))


@pytest.mark.long
def test_all_ranks_of_a_span(log: Path) -> None:
    reader = Reader(Store(jobs=0), discovery_catalog.scan(str(log), READERS))
    found = reader.run(Request(distributed, Selection("r", span=1)))
    assert [r.rank for r in found] == [0, 1, 2, 3]
    assert all(r.part is not None and r.problem is None for r in found)
    latest = reader.run(Request(distributed, Selection("r")))
    assert [r.part is None for r in latest] == [False, True, True, True]
    assert latest[1].problem.code == "unknown_span"
    with pytest.raises(TraceError, match="There is no span 7"):
        reader.run(Request(distributed, Selection("r", span=7)))
    with pytest.raises(TraceError, match="There is no run x"):
        reader.run(Request(distributed, Selection("x")))


def test_a_rank_that_cannot_be_read_does_not_hide_the_others(log: Path) -> None:
    cut = log / "r" / "host_2.1.pt.trace.json"
    reader = Reader(Store(jobs=0), discovery_catalog.scan(str(log), READERS))
    cut.write_text("nothing")
    found = reader.run(Request(distributed, Selection("r", span=1)))
    assert [r.part is None for r in found] == [False, False, True, False]
    assert found[2].problem is not None
    assert found[2].problem.message


def test_each_trace_is_reduced_once(log: Path) -> None:
    store = Slow()
    store.ready = {f"host_{rank}.1.pt.trace.json" for rank in range(4)}
    reader = Reader(store, discovery_catalog.scan(str(log), READERS))
    first = reader.run(Request(distributed, Selection("r", span=1)))
    again = reader.run(waiting(5))
    assert [r.part for r in first] == [r.part for r in again]
    assert len(store.asked) == 4
    trace(log / "r" / "host_1.1.pt.trace.json", rank=1, name="aten::changed_and_longer")
    reader.source.catalog = discovery_catalog.scan(str(log), READERS)
    reader.run(Request(distributed, Selection("r", span=1)))
    assert store.asked[4:] == ["host_1.1.pt.trace.json"]


@pytest.mark.long
def test_progress_is_that_of_all_and_what_is_done_stays(log: Path) -> None:
    store = Slow()
    catalog = discovery_catalog.scan(str(log), READERS)
    reader = Reader(store, catalog)
    sizes = {f.trace.name: f.trace.size for f in catalog.files.values()}

    def pending(wait_s: float) -> Progress:
        with pytest.raises(Pending) as error:
            reader.run(waiting(wait_s))
        return error.value.progress

    before = pending(0.2)
    assert (before.phase, before.traces, before.traces_done) == ("reading", 4, 0)
    assert before.bytes_total == sum(sizes[f"host_{rank}.1.pt.trace.json"] for rank in range(4))
    assert (before.bytes_done, before.events) == (40, 20)
    store.ready = {f"host_{rank}.1.pt.trace.json" for rank in (0, 3)}
    assert pending(2).traces_done == 2
    store.asked.clear()
    assert pending(2).traces_done == 2
    assert not store.ready & set(store.asked)
    store.ready |= {f"host_{rank}.1.pt.trace.json" for rank in (1, 2)}
    assert len(reader.run(waiting(5))) == 4


def test_a_canceled_rank_ends_the_view_and_the_other_ranks_that_it_reads(log: Path) -> None:
    store = Slow()
    catalog = discovery_catalog.scan(str(log), READERS)
    reader = Reader(store, catalog)
    given_up: list[tuple[str, bool]] = []
    done = threading.Event()

    def cancel(files: TraceFiles, *, parts: bool = False) -> bool:
        given_up.append((files.trace.name, parts))
        if len(given_up) == 5:
            done.set()
        return False

    store.cancel = cancel  # type: ignore[method-assign]
    files = catalog.find("r", 2, 1)
    assert not reader.cancel(files)
    assert given_up == [("host_2.1.pt.trace.json", False)]
    given_up.clear()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(reader.run, waiting(WAIT_S))
        while not store.asked:
            time.sleep(0.01)
        assert not reader.cancel(catalog.find("s")), "it reads no such trace"
        given_up.clear()
        assert reader.cancel(files)
        error = asked.exception(WAIT_S)
        assert isinstance(error, TraceError)
        assert error.code == "canceled"
    assert done.wait(WAIT_S)
    assert sorted(given_up) == [
        ("host_0.1.pt.trace.json", True),
        ("host_1.1.pt.trace.json", True),
        ("host_2.1.pt.trace.json", False),
        ("host_2.1.pt.trace.json", True),
        ("host_3.1.pt.trace.json", True),
    ]


@pytest.mark.long
def test_more_ranks_than_are_asked_for_at_a_time(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_ranks, "_AT_A_TIME", 2)
    store = Slow()
    reader = Reader(store, discovery_catalog.scan(str(log), READERS))
    with pytest.raises(Pending):
        reader.run(waiting(0.2))
    assert set(store.asked) == {"host_0.1.pt.trace.json", "host_1.1.pt.trace.json"}
    store.ready = {f"host_{rank}.1.pt.trace.json" for rank in range(4)}
    assert [rank.rank for rank in reader.run(waiting(WAIT_S))] == [0, 1, 2, 3]


def test_groups_of_ranks_are_read_from_one_file(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_groups, "RANKS", 3)
    catalog = discovery_catalog.scan(str(log), READERS)
    request = Request(distributed, Selection("r", span=1))

    def parts() -> list[Path]:
        return list((tmp_path / "cache").glob("*.part"))

    first = Reader(Store(0, tmp_path / "cache"), catalog).run(request)
    assert len(parts()) == 4 + 2
    for path in parts():
        if len(stored_parts(path)) == 1:
            path.unlink()
    assert len(parts()) == 1, "the group of one rank is no smaller than its part"
    trace(log / "r" / "host_3.1.pt.trace.json", rank=3)
    store = Slow(tmp_path / "cache")
    store.ready = {"host_3.1.pt.trace.json"}
    again = Reader(store, discovery_catalog.scan(str(log), READERS)).run(request)
    assert values(tuple(rank.part for rank in again)) == values(tuple(r.part for r in first))
    assert store.asked == ["host_3.1.pt.trace.json"], "the others are in the group's file"


def test_groups_are_stored_ahead_if_all_their_parts_are(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_groups, "RANKS", 3)
    catalog, store = discovery_catalog.scan(str(log), READERS), Store(0, tmp_path / "cache")

    def sizes() -> list[int]:
        all_ranks.keep_groups(store, catalog)
        paths = (tmp_path / "cache").glob("*.part")
        return sorted(len(stored_parts(path)) for path in paths)

    files = [catalog.files["r", rank, 1] for rank in range(4)]
    for one in files[1:]:
        store.part(one)
    assert sizes() == [1, 1, 1, 1], "the group of the last rank alone"
    store.part(files[0])
    assert sizes() == [1, 1, 1, 1, 1, 3]
    (log / "r" / "host_1.1.pt.trace.json").unlink()
    all_ranks.keep_groups(store, catalog)


def test_a_group_with_a_rank_that_cannot_be_read_is_not_stored(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_groups, "RANKS", 3)
    reader = Reader(Store(0, tmp_path / "cache"), discovery_catalog.scan(str(log), READERS))
    (log / "r" / "host_1.1.pt.trace.json").write_text("nothing")
    found = reader.run(Request(distributed, Selection("r", span=1)))
    assert [rank.part is None for rank in found] == [False, True, False, False]
    assert all(len(stored_parts(path)) == 1 for path in (tmp_path / "cache").glob("*.part"))


def test_a_base_may_be_elsewhere(log: Path, tmp_path: Path) -> None:
    reader = Reader(Store(jobs=0), discovery_catalog.scan(str(log), READERS))
    found = reader.run(Request(both, Selection("r", 1), Selection("s")))
    assert found == ("host_1.1.pt.trace.json", "other_0.1.pt.trace.json")
    same = reader.run(Request(both, Selection("r", 0, 2), Selection("r", 0, 1)))
    assert same == ("host_0.2.pt.trace.json", "host_0.1.pt.trace.json")
    far = discovery_catalog.scan(
        str(write(tmp_path / "far" / "b.1.pt.trace.json", {"traceEvents": []})), READERS
    )
    two = Reader(Store(jobs=0), reader.source.catalog, base_catalog=far)
    elsewhere = two.run(Request(both, Selection("r", 1), Selection()))
    assert elsewhere == ("host_1.1.pt.trace.json", "b.1.pt.trace.json")


def test_options_arrive(log: Path) -> None:
    def trace_and(trace: Trace, *, n: int = 1) -> Any:
        return n

    reader = Reader(Store(jobs=0), discovery_catalog.scan(str(log), READERS))
    assert reader.run(Request(trace_and, options={"n": 5})) == 5


def test_parts_are_small(log: Path) -> None:
    reader = Reader(Store(jobs=0), discovery_catalog.scan(str(log), READERS))
    found = reader.run(Request(distributed, Selection("r", span=1)))
    assert not any(isinstance(v, Trace) for r in found for v in asdict(r.part).values())
    assert isinstance(found[0].part, Struct)


def test_what_is_kept_of_traces_is_bounded(log: Path) -> None:
    store = Slow()
    store.ready = {f"host_{rank}.1.pt.trace.json" for rank in range(4)}
    memory = MemoryBudget()
    reader = Reader(store, discovery_catalog.scan(str(log), READERS), memory=memory)
    found = reader.run(Request(distributed, Selection("r", span=1)))
    size = size_bytes(found[0].part)
    assert size > sum(v.nbytes for v in asdict(found[0].part.calls).values())
    ranks = trace_parts._RANK_BYTES * len(found)
    assert memory.bytes == sum(size_bytes(rank.part) for rank in found) + ranks
    few = MemoryBudget(2 * size + size // 2)
    narrow = Reader(store, reader.source.catalog, memory=few)
    assert len(narrow.run(Request(distributed, Selection("r", span=1)))) == 4
    assert len(few.keys(narrow.source.parts)) == 2


def test_what_is_made_of_ranks_is_kept_as_long_as_their_parts_are_the_same(log: Path) -> None:
    made: list[Hashable] = []

    @reduces(reduce_trace)
    def view(ranks: tuple[Rank, ...], *, step: int | None = None) -> int:
        return keep(ranks, step, lambda: made.append(step) or len(ranks), lambda _: 1000)

    memory = MemoryBudget()
    reader = Reader(Store(jobs=0), discovery_catalog.scan(str(log), READERS), memory=memory)

    def ask(step: int) -> int:
        found: int = reader.run(Request(view, Selection("r", span=1), options={"step": step}))
        return found

    assert [ask(1), ask(1), ask(2)] == [4, 4, 4]
    assert made == [1, 2]
    trace(log / "r" / "host_1.1.pt.trace.json", rank=1, name="aten::changed_and_longer")
    ask(1)
    assert made == [1, 2], "the catalog has not changed"
    reader.source.catalog = discovery_catalog.scan(str(log), READERS)
    ask(1)
    assert made == [1, 2, 1]
    gc.collect()
    kept = sum(
        size_bytes(memory.find(reader.source.parts, key)) for key in parts_in(memory, reader)
    )
    assert memory.bytes == kept + 4 * trace_parts._RANK_BYTES + 1000, "no more of the earlier parts"


def test_polls_look_the_files_up_once_per_listing(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[object] = []
    members = all_ranks._members
    monkeypatch.setattr(all_ranks, "_members", lambda *a: listed.append(a) or members(*a))
    store = Slow()
    reader = Reader(store, discovery_catalog.scan(str(log), READERS))
    for _ in range(5):
        with pytest.raises(Pending):
            reader.run(waiting(0))
    assert len(listed) == 1
    reader.source.catalog = discovery_catalog.scan(str(log), READERS)
    with pytest.raises(Pending):
        reader.run(waiting(0))
    assert len(listed) == 2, "another listing is looked at"
    for _ in range(3):
        with pytest.raises(TraceError, match="no span 7"):
            reader.run(Request(distributed, Selection("r", span=7)))


def parts_in(memory: MemoryBudget, reader: Reader) -> list[Hashable]:
    """Return the keys of what is in memory of single ranks."""
    parts = reader.source.parts
    return [key for key in memory.keys(parts) if isinstance(memory.find(parts, key), RankPart)]


def test_two_views_that_read_the_same_ranks_reduce_them_once(
    log: Path,
) -> None:
    """At the same time, and though what they compute of them differs."""
    reduced: list[int | None] = []
    together = threading.Barrier(2)

    def count(trace: Trace) -> Any:
        reduced.append(trace.meta.rank)
        return reduce_trace(trace)

    @reduces(count)
    def spans(ranks: tuple[Rank, ...]) -> tuple[Rank, ...]:
        return ranks

    @reduces(count)
    def clock(ranks: tuple[Rank, ...]) -> tuple[Rank, ...]:
        return ranks

    reader = Reader(Store(jobs=0), discovery_catalog.scan(str(log), READERS))

    def ask(view: Any) -> int:
        together.wait(20)
        return len(reader.run(Request(view, Selection("r", span=1))))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, (spans, clock))) == [4, 4]
    assert sorted(reduced, key=str) == [0, 1, 2, 3]
