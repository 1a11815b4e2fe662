"""The embedded engine: reader processes of this machine, or the caller's thread."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.discovery.trace_files import is_unchanged
from tb_privateuse1.storage.engines.engine import Reading, open_stored
from tb_privateuse1.storage.ingest import ingest, save
from tb_privateuse1.storage.jobs import vanished_error
from tb_privateuse1.storage.processor_count import processes_for_one
from tb_privateuse1.storage.reader_process import in_process
from tb_privateuse1.storage.worker_process import Waiting
from tb_privateuse1.trace.model import Trace


class LocalEngine:
    """Reads in processes of its own, ``readers`` at a time, or with 0 in the caller's thread."""

    locks = False

    def __init__(self, readers: int) -> None:
        self.readers = readers
        self._waiting = Waiting()
        self._lock = threading.Lock()
        self._busy = 0

    def check(self) -> None:
        """Do nothing: it can always read."""

    def read(self, reading: Reading) -> Trace | RankPart:
        """Return a trace or its part; raises TraceError as ``ingest`` and ``in_process`` do."""
        if not self.readers:
            return _here(reading)
        with self._lock:
            self._busy += 1
            processes = processes_for_one(self._busy)
        try:
            return self._in_process(reading, processes)
        finally:
            with self._lock:
                self._busy -= 1

    def discard(self, paths: Sequence[Path]) -> None:
        """Do nothing: it shares nothing else."""

    def close(self) -> None:
        """End the processes that wait for another trace."""
        self._waiting.close()

    def _in_process(self, reading: Reading, processes: int) -> Trace | RankPart:
        name = reading.paths[0].name
        spare = Path(tempfile.gettempdir(), f"tb_privateuse1-{os.urandom(8).hex()}", name)
        try:
            # From the cache another server may remove it before it is opened here.
            for targets in ([*reading.paths, spare], [spare]):
                written = in_process(
                    reading.files,
                    targets,
                    reading.progress,
                    reading.started,
                    self._waiting,
                    reading.vendors,
                    processes,
                )
                if (stored := open_stored(written, reading)) is not None:
                    return stored
        finally:
            shutil.rmtree(spare.parent, ignore_errors=True)
        raise vanished_error(reading.files)


def _here(reading: Reading) -> Trace:
    trace = ingest(reading.files, reading.progress, reading.paths, reading.vendors)
    save(trace, reading.paths if is_unchanged(reading.files) else [])
    return trace
