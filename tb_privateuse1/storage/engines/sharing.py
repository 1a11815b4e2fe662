"""Wrap an engine with an object store, so that no trace is read twice by any machine."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.discovery.file import printable
from tb_privateuse1.storage import object_cache
from tb_privateuse1.storage.engines.engine import Engine, Reading, open_stored
from tb_privateuse1.trace.model import Trace

_log = logging.getLogger(__name__)


class SharingEngine:
    """Copies traces from below a URL, or has another engine read them and copies them there.

    Workers of a cluster copy what they read themselves (``engine.locks``).
    """

    def __init__(self, engine: Engine, url: str) -> None:
        self._engine = engine
        self._url = url
        self.name = engine.name
        self.readers = engine.readers
        self.locks = engine.locks

    def check(self) -> None:
        """Raise TraceError if the engine cannot read now."""
        self._engine.check()

    def read(self, reading: Reading) -> Trace | RankPart:
        """Return a trace or its part, copied or read. Raises TraceError as the engine does."""
        path = reading.paths[0]
        try:
            if object_cache.bring(path, self._url, columns=reading.columns()):
                stored = open_stored(path, reading)
                if stored is not None:
                    return stored
        except OSError as error:  # it is only slower without
            _log.warning("%s: %s", printable(path.name), error)
        made = self._engine.read(reading)
        if not self._engine.locks:
            self._keep(reading)
        return made

    def discard(self, paths: Sequence[Path]) -> None:
        """Remove a trace from the store. Raises RemoteError."""
        object_cache.forget(paths[0], self._url)

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _keep(self, reading: Reading) -> None:
        stored = next(filter(Path.is_file, reading.paths), None)
        if stored is None:
            return
        try:
            object_cache.keep(stored, self._url)
        except OSError as error:
            _log.warning("%s: %s", printable(stored.name), error)
