"""Recognize copies and fills, as profilers and the vendors' runtimes name them.

AMD's runtime runs some as kernels: ``__amd_rocclr_copyBuffer``, ``__amd_rocclr_fillBufferAligned``.
Ascend's own analysis counts its kernels ``…_MemSet`` as computation, and so do we.
"""

from __future__ import annotations

import re
from typing import Literal

from tb_privateuse1.vendors.kernel_names.kernel import Kernel, KernelName

_MEMCPY = re.compile(
    r"memcpy (?P<way>[HDPA]to[HDPA])\b(?: \((?P<source>\w+) -> (?P<target>\w+)\))?|"
    r"Copy(?P<from>Host|Device)To(?P<to>Host|Device)$",
    re.IGNORECASE,
)
_FILL = re.compile(r"memset\b|FillBuffer$|__amd_rocclr_fill(Buffer|Image)", re.IGNORECASE)
_BUFFER = re.compile(
    r"CopyBuffer\b|__amd_rocclr_copy(Buffer|Image)|MEMCPY_ASYNC\b|memcpy\b", re.IGNORECASE
)
_HOST_MEMORY = ("pageable", "pinned", "managed")


def move_of(name: str) -> Literal["copy", "fill"] | None:
    """Return whether a device activity of this full name is a copy or a fill; None of another."""
    if _FILL.match(name):
        return "fill"
    return "copy" if _MEMCPY.match(name) or _BUFFER.match(name) else None


def read_copy(kernel: Kernel) -> KernelName | None:
    """Return ``copy H2D pageable`` of ``Memcpy HtoD (Pageable -> Device)``."""
    if found := _MEMCPY.match(kernel.full):
        way = (found["way"] or f"{found['from'][0]}{found['to'][0]}").upper()
        memory = (found["source"] or "").lower(), (found["target"] or "").lower()
        special = [word for word in memory if word in _HOST_MEMORY]
        return KernelName(" ".join(("copy", f"{way[0]}2{way[-1]}", *special[:1])), "copy")
    move = move_of(kernel.full)
    return KernelName(move, "copy") if move else None
