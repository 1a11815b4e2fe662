"""Freed memory that stays in the process, so that the system clears no new pages."""

from __future__ import annotations

import ctypes
import os

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Of glibc's ``malloc.h``. M_MMAP_THRESHOLD is refused beyond 32 MiB until glibc 2.34."""
_MOST = 2**31 - 1
"""Bytes; the greatest that mallopt takes."""


def _apply(effects: Effects) -> None:
    try:
        has_glibc = bool(os.confstr("CS_GNU_LIBC_VERSION"))
        keep = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError, ValueError):
        return  # another C library: it has no such settings
    if has_glibc and keep(_MMAP_MAX, 0) and keep(_TRIM_THRESHOLD, _MOST):
        effects.note("settings of glibc that keep freed memory")


REMEDY = Remedy(
    name="kept_memory",
    what="the C library keeps what tensors free, instead of giving it back to the system",
    applies_to="glibc as its C library, whose allocator the process uses",
    apply=_apply,
)
