"""A page that goes from run to run: the budget has all that is derived, and holds it."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog as discovery_catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection
from tests.support import make
from tests.support.trace_files import write

_RUNS, _OPERATORS = 5, 40
_VIEWS = ("timeline", "operators", "kernels", "runtime")
_LIMIT_BYTES = 60_000
"""Less than two of the traces with what the views derive of them."""


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The process's budget, with a small limit."""
    monkeypatch.setattr(BUDGET, "limit_bytes", _LIMIT_BYTES)
    yield _LIMIT_BYTES
    tracemalloc.stop()


def pair(i: int) -> list[make.Event]:
    """Return an operator with its kernel."""
    at = 20 * i
    return [
        make.op(f"aten::op{i % 4}", at, at + 8, id=i),
        make.launch(at + 1, at + 3, i + 1),
        make.kernel(f"k{i % 3}", at + 4, at + 15, i + 1),
    ]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """A reader of runs of some kB each."""
    steps = [make.step(i, 2000 * i, 2000 * i + 1999) for i in range(4)]
    events = [*steps, *(event for i in range(_OPERATORS) for event in pair(i))]
    for run in range(_RUNS):
        write(tmp_path / "log" / f"r{run}" / "host_0.1.pt.trace.json", make.document(*events))
    catalog = discovery_catalog.scan(str(tmp_path / "log"), READERS)
    return Reader(Store(jobs=0, cache_dir=tmp_path / "cache"), catalog)


def look(reader: Reader, changes: range) -> int:
    """Ask a view of one run after another; return the most bytes that were counted."""
    most = 0
    for i in changes:
        view = VIEWS[_VIEWS[i // _RUNS % len(_VIEWS)]]
        reader.run(Request(view, Selection(f"r{i % _RUNS}")))
        most = max(most, BUDGET.bytes)
    return most


def held() -> int:
    """Return the bytes that Python and its arrays hold."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.long
def test_hundreds_of_changes_hold_no_more_than_the_first_ones(reader: Reader, limit: int) -> None:
    round_ = _RUNS * len(_VIEWS)
    look(reader, range(round_))  # reads all, and imports what the views need
    tracemalloc.start()
    look(reader, range(round_))
    before = held()
    assert look(reader, range(10 * round_)) <= 2 * limit  # the latest one stays over the limit
    assert held() - before < limit  # a value kept of each change would be fifty times that
