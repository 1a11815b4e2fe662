"""Say of a trace that is read again that a part of it is stored by another version of the package.

Such a part is of no use, but who waits for a thousand ranks wants to know why they are read again.
Its name (``disk_cache.cache_key``) begins with the trace's content, whatever version made it. It is
another name, or the same where only the analysis has changed: then ``part_file`` found it outdated.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tb_privateuse1.i18n import say
from tb_privateuse1.storage import cache_directory, disk_cache, part_file

_LISTED_S = 60.0
"""A directory of ten thousand parts is listed at most so often: what others write into it meanwhile
is rarely of an earlier version."""


class EarlierParts:
    """The parts in cache directories by content. ``clock`` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._listed: dict[Path, tuple[float, dict[str, str]]] = {}

    def note(self, paths: Sequence[Path]) -> str | None:
        """Return what to say of a trace without a usable part; None if it never had one.

        ``paths`` are those at which the trace may be cached.
        """
        if not any(map(self._is_earlier, paths)):
            return None
        return say(
            "What is stored of this run is of another version of tb_privateuse1: its traces are "
            "read again. To have that done ahead, run tb-privateuse1 ingest once after an update."
        )

    def _is_earlier(self, path: Path) -> bool:
        content = disk_cache.content_of(path.stem)
        known = self._keys(path).get(content, path.stem)
        return known != path.stem or part_file.is_outdated(content)

    def _keys(self, path: Path) -> dict[str, str]:
        """Return by content the key of a part in the directory of a path."""
        now, folder = self._clock(), path.parent
        listed_s, found = self._listed.get(folder, (now - _LISTED_S, {}))
        if now - listed_s >= _LISTED_S:
            end = cache_directory.part_path(path).suffix
            names: list[str] = []
            with contextlib.suppress(OSError):  # there is none yet
                names = os.listdir(folder)
            keys = [name.removesuffix(end) for name in names if name.endswith(end)]
            found = {disk_cache.content_of(key): key for key in keys}
            self._listed[folder] = now, found
        return found
