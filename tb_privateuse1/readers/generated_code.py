"""Find the kernels in a file that Inductor has generated.

Each kernel is an assignment in it:
``triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''…''')``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from tb_privateuse1.readers.raw import KernelSource

_KERNEL = re.compile(
    r"^(?P<name>\w+) = async_compile\.\w+\("
    r"[^\n]*?r?(?P<quote>'''|\"\"\")(?P<text>.*?)(?P=quote)",
    re.MULTILINE | re.DOTALL,
)


def kernels(file: str, text: str) -> Iterator[KernelSource]:
    """Yield the kernels of a generated file, each with the comments in front of it."""
    end = 0
    for match in _KERNEL.finditer(text):
        # In the pattern, each line of a long comment would start another search of the rest.
        lines = text[end : match.start()].split("\n")[bool(end) : -1]
        about = [*takewhile(lambda line: line.startswith("#"), reversed(lines))]
        body = match["text"].strip("\n")
        yield KernelSource(match["name"], file, "\n".join([*reversed(about), body, ""]))
        end = match.end()
