"""Advisory locks on files: the system releases them when their holder ends, in whatever way.

``flock`` on Unix, ``msvcrt.locking`` on Windows. A lock belongs to an open file, so two of one
process exclude each other too. Where the file system has no locks, OSError is raised.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path
from types import TracebackType

_REPLACED = 5
"""How often a lock file may be removed between its opening and its locking."""
_BEAT_S = 1.0


def try_lock(descriptor: int) -> bool:
    """Lock an open file without waiting; False if another holds it. Closing it ends the lock."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file still has this path: it may be removed or replaced."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


class Claim:
    """A lock that is held, by its file. The file goes with it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._beaten_s = -_BEAT_S

    def beat(self) -> None:
        """Show those who wait that it goes on, once a second: the file's time is now."""
        now = time.monotonic()
        if now - self._beaten_s >= _BEAT_S:
            self._beaten_s = now
            with contextlib.suppress(OSError):
                os.utime(self._path)

    def release(self) -> None:
        """Give it back; once is enough."""
        if self._descriptor is not None:
            remove_open(self._path, self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.release()


def claim(path: Path) -> Claim | None:
    """Create and lock a file; return None if another process holds the lock. Raises OSError."""
    for _ in range(_REPLACED):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            held = try_lock(descriptor)
            current = held and is_at(descriptor, path)
        except BaseException:
            os.close(descriptor)
            raise
        if current:
            return Claim(path, descriptor)
        os.close(descriptor)
        if not held:
            return None
    return None


def remove_open(path: Path, descriptor: int) -> None:
    """Remove a file whose lock is held, if it still has this path, and give the lock back."""
    current = is_at(descriptor, path)
    if sys.platform == "win32":  # no open file is removed there
        os.close(descriptor)
    if current:
        with contextlib.suppress(OSError):
            path.unlink()
    if sys.platform != "win32":
        os.close(descriptor)
