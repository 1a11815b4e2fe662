"""Traces that wait for their turn in a busy cluster."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import disk_cache, jobs
from tb_privateuse1.storage.engines import Reading
from tb_privateuse1.storage.engines.engine import EngineName
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.server.storage.test_jobs import ask
from tests.server.storage.test_store import until
from tests.support.clock import FakeClock
from tests.support.trace_files import trace


class Busy:
    """An engine whose tasks wait for a turn until they are withdrawn."""

    name: EngineName = "dask"
    readers = 4
    locks = True

    def __init__(self) -> None:
        self.turns = Counter[str]()
        """How often each trace has waited."""

    def check(self) -> None:
        """Do nothing: it can always wait."""

    def read(self, reading: Reading) -> Trace:
        withdrawn = threading.Event()
        while not withdrawn.wait(0.01):
            self.turns[reading.files.trace.name] += 1
            reading.started(SimpleNamespace(kill=withdrawn.set))
        raise jobs.canceled_error(reading.files)

    def discard(self, paths: object) -> None:
        """Do nothing: it shares nothing."""

    def close(self) -> None:
        """Do nothing: what is being read was killed before."""


def test_what_waits_is_withdrawn_when_everybody_has_gone(files: TraceFiles, tmp_path: Path) -> None:
    path = trace(tmp_path / "more" / "t.json", name="aten::another")
    other = catalog.scan(str(path), READERS).find()
    clock, cluster = FakeClock(), Busy()
    made = Store(cache_dir=tmp_path / "cache", clock=clock.now, engine=cluster)
    with ThreadPoolExecutor(1) as pool, contextlib.closing(made):
        asker = pool.submit(made.trace, files)  # waits, however long
        ask(made, other)
        until(lambda: len(cluster.turns) == 2)
        clock.advance(jobs.FORGOTTEN_S + 1)
        until(lambda: made._jobs.get(disk_cache.cache_key(other)) is None)
        cluster.turns.clear()
        until(lambda: sum(cluster.turns.values()) > 3)
        assert [*cluster.turns] == [files.trace.name], "somebody asks for it still"
        ask(made, other)
        until(lambda: other.trace.name in cluster.turns)
    assert isinstance(asker.exception(20), TraceError)
