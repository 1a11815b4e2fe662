"""The embedded engine: reader processes of this machine, or the caller's thread."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.discovery.trace_files import is_unchanged
from tb_privateuse1.i18n import say
from tb_privateuse1.storage.engines.engine import EngineName, Reading, open_stored
from tb_privateuse1.storage.ingest import ingest, is_mixed, is_of, save
from tb_privateuse1.storage.jobs import vanished_error
from tb_privateuse1.storage.processor_count import processes_for_one
from tb_privateuse1.storage.reader_process import in_process
from tb_privateuse1.storage.worker_process import Waiting
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Trace

_MEMORY = "/dev/shm"
"""Linux's file system in memory; a container often has 64 MB of it."""
_MOST_HERE_BYTES = 64 << 20
"""A larger file, packed or not, is not read in the server's own process: a reader of its own has a
limit of memory and can be ended, this one has none."""


class LocalEngine:
    """Reads in processes of its own, ``readers`` at a time, or with 0 in the caller's thread."""

    name: EngineName = "local"
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
        no_room: TraceError | None = None
        for place in _spare_places():
            try:
                return self._by_way_of(place, reading, processes)
            except TraceError as error:
                if error.code != "no_room":
                    raise
                no_room = error
        if no_room and reading.files.trace.size > _MOST_HERE_BYTES:
            raise no_room
        return _here(reading)

    def _by_way_of(self, place: str, reading: Reading, processes: int) -> Trace | RankPart:
        """Read a trace into the cache, or else into a directory of its own in ``place``."""
        name = reading.paths[0].name
        spare = Path(place, f"tb_privateuse1-{os.urandom(8).hex()}", name)
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
                    is_spare = written == spare and len(targets) > 1
                    return _unstored(stored, reading) if is_spare else stored
        finally:
            shutil.rmtree(spare.parent, ignore_errors=True)
        raise vanished_error(reading.files)


def _here(reading: Reading) -> Trace:
    trace = ingest(reading.files, reading.progress, reading.paths, reading.vendors)
    key = reading.paths[0].stem
    if not is_of(trace, reading.files, key, reading.vendors) or save(trace, reading.paths):
        return trace
    return _with_word(trace)


def _spare_places() -> list[str]:
    """Return where a trace passes from its reader to the server if the cache has no room.

    The second one is memory: a full disk often has the temporary directory, too.
    """
    places = [tempfile.gettempdir()]
    return [*places, _MEMORY] if os.access(_MEMORY, os.W_OK) else places


def _unstored(made: Trace | RankPart, reading: Reading) -> Trace | RankPart:
    """Return what was read and not stored, with a word about that; a part has no place for it."""
    is_whole = isinstance(made, Trace) and is_unchanged(reading.files) and not is_mixed(made)
    return _with_word(made) if isinstance(made, Trace) and is_whole else made


def _with_word(trace: Trace) -> Trace:
    message = say(
        "This trace could not be stored in the cache: it is only in memory, and read again later."
    )
    hint = say("Set TB_PRIVATEUSE1_CACHE to a directory with room for it.")
    found = (*trace.meta.findings, Finding("not_stored", message, hint, severity="info"))
    return replace(trace, meta=replace(trace.meta, findings=found))
