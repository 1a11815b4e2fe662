"""Copies and fills, as profilers and the vendors' runtimes name them."""

from __future__ import annotations

import re

from tb_privateuse1.vendors.kernel_names.kernel import Kernel, KernelName

_MEMCPY = re.compile(
    r"memcpy (?P<way>[HDPA]to[HDPA])\b(?: \((?P<source>\w+) -> (?P<target>\w+)\))?|"
    r"Copy(?P<from>Host|Device)To(?P<to>Host|Device)$",
    re.IGNORECASE,
)
_FILL = re.compile(r"memset\b|FillBuffer$|__amd_rocclr_fillBuffer", re.IGNORECASE)
_BUFFER = re.compile(r"CopyBuffer|__amd_rocclr_copyBuffer|MEMCPY_ASYNC|memcpy\b", re.IGNORECASE)
_HOST_MEMORY = ("pageable", "pinned", "managed")


def read_copy(kernel: Kernel) -> KernelName | None:
    """Return ``copy H2D pageable`` of ``Memcpy HtoD (Pageable -> Device)``."""
    if found := _MEMCPY.match(kernel.full):
        way = (found["way"] or f"{found['from'][0]}{found['to'][0]}").upper()
        memory = (found["source"] or "").lower(), (found["target"] or "").lower()
        special = [word for word in memory if word in _HOST_MEMORY]
        return KernelName(" ".join(("copy", f"{way[0]}2{way[-1]}", *special[:1])), "copy")
    if _FILL.match(kernel.full):
        return KernelName("fill", "copy")
    return KernelName("copy", "copy") if _BUFFER.match(kernel.full) else None
