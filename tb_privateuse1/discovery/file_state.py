"""Tell whether local files change while they are read: rewritten in place, replaced, or gone.

Size and time of change do not tell: a program may set the time, and two changes within a tick of
the file system's clock have the same. The system's own time of the last change of the inode tells,
once that tick is over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from tb_privateuse1.discovery import archive, remote
from tb_privateuse1.discovery.file import COARSEST_NS

TICK_NS = 10_000_000
"""The coarsest clock of Linux's own file systems has 100 ticks a second."""
_SECOND_NS = 1_000_000_000

State = dict[str, tuple[int, ...] | None]
"""By path of the file that the system knows; None: there is none."""


def state_of(paths: Iterable[str]) -> State:
    """Return the state of the local files among some paths, to be compared with a later one.

    Each is opened, which makes a network's file system ask its server. Raises OSError.
    """
    found: State = {}
    for path in paths:
        if not remote.is_url(path):
            member = archive.split(path)
            found[path] = _state(member.archive if member else path)
    return found


def settled_state_of(paths: Iterable[str]) -> State:
    """Return the same once any later change has another state: after 10 ms at most.

    Where the clock of the file system has whole seconds, after 2 s at most.
    """
    found = state_of(paths)
    changed_ns = max((state[-1] for state in found.values() if state), default=0)
    age_ns = time.time_ns() - changed_ns
    tick_ns = TICK_NS if changed_ns % _SECOND_NS else COARSEST_NS
    if 0 <= age_ns < tick_ns:
        time.sleep((tick_ns - age_ns) / 1e9)
    return found


def _state(path: str) -> tuple[int, ...] | None:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        status = os.stat(path)
    else:
        try:
            status = os.fstat(handle)
        finally:
            os.close(handle)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
