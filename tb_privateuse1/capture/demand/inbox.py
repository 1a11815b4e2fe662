"""Hold the recording request that a running job is to serve next."""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path

from tb_privateuse1.capture.backend import rank_and_world_size
from tb_privateuse1.capture.demand.files import RefusedError, Request, read_request

_CLOCKS_NS = 5_000_000_000
"""How far the clocks of two hosts may be apart."""


class Inbox:
    """The request file at ``path``, looked at by a job that began at ``began_ns``."""

    def __init__(self, path: Path, began_ns: int) -> None:
        self.waiting: Request | None = None
        """A request that was read and not taken."""
        self._path = path
        self._began_ns = began_ns
        self._seen: tuple[int, int, int] | None = None
        self._served: deque[str] = deque(maxlen=64)

    def look(self, count: int) -> bool:
        """Look for a request before step ``count``; return whether ``waiting`` changed.

        Each one is read once. Raises RefusedError for one that is not served.
        """
        before = self.waiting
        try:
            found = os.lstat(self._path)
        except OSError:  # none, or the logdir is gone
            self.waiting = self._seen = None
            return before is not None
        seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        if seen != self._seen:
            self._seen, self.waiting = seen, None
            self._read(count)
        elif before is not None and time.time_ns() > before.expires_ns:
            self.waiting = None
            raise RefusedError(f"the request expired before step {before.from_step}", before.id)
        return self.waiting is not before

    def take(self, count: int) -> tuple[Request, int] | None:
        """Return the request whose recording or warm-up begins with step ``count``.

        With it the first step to record. The warm-up is shorter if the request came late.
        """
        request = self.waiting
        if request is None:
            return None
        first = count + request.warmup if request.from_step is None else request.from_step
        if count < first - request.warmup:
            return None
        self.waiting = None
        return request, max(first, count)

    def _read(self, count: int) -> None:
        try:
            request = read_request(self._path)
        except OSError:
            self._seen = None
            return
        if request.id in self._served:
            return
        self._served.append(request.id)
        rank, world_size = rank_and_world_size()
        if request.ranks is not None and (rank or 0) not in request.ranks:
            return
        if time.time_ns() > request.expires_ns:
            raise RefusedError("the request had expired when it was read", request.id)
        if request.created_ns < self._began_ns - _CLOCKS_NS:
            raise RefusedError("the request was made before this job began", request.id)
        # One rank alone may record later than asked; among others it would show another step.
        alone = (world_size or 1) == 1 or len(request.ranks or (0, 0)) == 1
        if request.from_step is not None and request.from_step < count and not alone:
            raise RefusedError(
                f"step {request.from_step} was over when the request was read, before step "
                f"{count}: other ranks may have recorded it",
                request.id,
            )
        self.waiting = request
