"""Refresh the catalog of a logdir in the background, so that no request waits for a disk."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from operator import is_

from msgspec.structs import replace

from tb_privateuse1.discovery import catalog as discovery_catalog
from tb_privateuse1.discovery import roots
from tb_privateuse1.discovery.formats import Format
from tb_privateuse1.discovery.remote import below
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.isolation import reason_of

_PUBLISH_S = 0.5
_AGAIN_S = 30.0
"""The delay before another attempt at an unreadable remote logdir, if there is no interval."""
_log = logging.getLogger(__name__)


class Scanner:
    """Scan in a thread that starts with the first request, then every ``interval_s`` seconds.

    ``interval_s`` of 0 scans once, as TensorBoard's ``--reload_interval 0``. During the first
    scan the catalog grows. A logdir that does not exist (yet) is a warning. So is an unreadable
    remote one: its known runs stay listed, and it is tried again. So do the known runs of a
    remote directory or file that cannot be read for a while. Slow scans pause as long as
    they took, so that they use at most half of the time. Without ``links_out``, links that lead
    out of a local root are a warning. ``clock`` returns seconds; ``wait`` waits for an event and
    returns whether it was set in time.
    """

    def __init__(
        self,
        logdir: str,
        formats: Sequence[Format],
        spec: Sequence[tuple[str, str]] = (),
        interval_s: float = 5.0,
        *,
        links_out: bool = True,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._clock, self._wait = clock, wait
        self._formats = formats
        self._links_out = links_out
        self._roots = list(spec) or [("", logdir)]
        self._logdir = roots.describe(self._roots)
        self._interval_s = interval_s
        self._catalog = discovery_catalog.catalog(self._logdir, (), (), scanning=True)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._entries: list[discovery_catalog.Entry] = []
        self._is_root_lost = False
        self._scanned = threading.Event()
        self._stop = threading.Event()

    def catalog(self) -> discovery_catalog.Catalog:
        """Return the present catalog, without waiting."""
        self._start()
        return self._catalog

    def is_active(self) -> bool:
        """Return whether there are traces; True until the first scan has finished."""
        catalog = self.catalog()
        return catalog.runs.scanning or bool(catalog.runs.runs)

    def find(
        self,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
        wait_s: float | None = None,
    ) -> TraceFiles:
        """Return ``Catalog.find``; waits for the first scan if the result depends on it.

        Raises TraceError as ``Catalog.find`` does, or ``scanning`` if the first scan takes
        longer than ``wait_s``.
        """
        return self.await_run(run, wait_s).find(run, rank, span)

    def await_run(
        self, run: str | None = None, wait_s: float | None = None
    ) -> discovery_catalog.Catalog:
        """Return a catalog that lists a run, or all runs: it waits for the first scan if it must.

        Raises TraceError ``scanning`` if that takes longer than ``wait_s``.
        """
        catalog = self.catalog()
        if catalog.runs.scanning and run not in {r.run for r in catalog.runs.runs}:
            if not self._scanned.wait(wait_s):
                raise TraceError(
                    "scanning", say("{logdir} is still being searched.", logdir=catalog.runs.logdir)
                )
            catalog = self._catalog
        return catalog

    def close(self) -> None:
        """End the thread; the catalog remains."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="scan", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        heads = Heads(self._formats)
        while not self._stop.is_set():
            started = self._clock()
            try:
                self._scan(heads)
            except Exception as error:  # the dashboard must survive any error
                _log.exception("scanning %s", self._logdir)
                self._fail(error)
            self._scanned.set()
            pause = self._interval_s or (_AGAIN_S if self._is_root_lost else 0)
            if not pause or self._wait(self._stop, max(pause, self._clock() - started)):
                return

    def _scan(self, heads: Heads) -> None:
        warnings: list[Finding] = []
        entries: list[discovery_catalog.Entry] = []
        lost: list[str] = []
        published = self._clock()
        for entry in discovery_catalog.walk(
            self._roots, heads, warnings, lost, links_out=self._links_out
        ):
            if self._stop.is_set():
                return
            entries.append(entry)
            if self._catalog.runs.scanning and self._clock() - published > _PUBLISH_S:
                self._catalog = discovery_catalog.catalog(
                    self._logdir, entries, warnings, scanning=True
                )
                published = self._clock()
        entries += _entries_of_lost(self._entries, lost, entries)
        self._is_root_lost = any(path in lost for _, path in self._roots)
        self._publish(entries, tuple(warnings))
        if not lost:
            heads.forget_unused()

    def _publish(
        self, entries: list[discovery_catalog.Entry], warnings: tuple[Finding, ...]
    ) -> None:
        """Set the catalog after a scan; one that found the same leaves it the same object."""
        runs = self._catalog.runs
        same = len(entries) == len(self._entries) and all(map(is_, entries, self._entries))
        if same and not runs.scanning and runs.warnings == warnings:
            return
        self._entries = entries
        self._catalog = discovery_catalog.catalog(self._logdir, entries, warnings)

    def _fail(self, error: Exception) -> None:
        runs = self._catalog.runs
        failure = Finding(
            "scan_failed",
            say("The search failed: {error}", error=reason_of(error)),
        )
        runs = replace(runs, scanning=False, warnings=(failure,))
        self._catalog = replace(self._catalog, runs=runs)


def _entries_of_lost(
    earlier: Sequence[discovery_catalog.Entry],
    lost: Sequence[str],
    found: Sequence[discovery_catalog.Entry],
) -> list[discovery_catalog.Entry]:
    """Return the earlier runs below URLs that cannot be read now, except those found again."""
    names = {run.run for run, _ in found}
    return [
        (run, files)
        for run, files in earlier
        if run.run not in names
        and any(below(f.trace.path, url) for f in files.values() for url in lost)
    ]
