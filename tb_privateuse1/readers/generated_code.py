"""Find the kernels in a file that Inductor has generated.

Each kernel is an assignment in it:
``triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''…''')``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tb_privateuse1.readers.raw import KernelSource

_KERNEL = re.compile(
    r"^(?P<about>(?:#[^\n]*\n)*)(?P<name>\w+) = async_compile\.\w+\("
    r"[^\n]*?r?(?P<quote>'''|\"\"\")(?P<text>.*?)(?P=quote)",
    re.MULTILINE | re.DOTALL,
)


def kernels(file: str, text: str) -> Iterator[KernelSource]:
    """Yield the kernels of a generated file."""
    for match in _KERNEL.finditer(text):
        about, body = match["about"], match["text"].strip("\n")
        yield KernelSource(match["name"], file, f"{about}{body}\n")
