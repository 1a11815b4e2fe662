"""Read the sources of kernels that torch saves beside an execution trace.

With extra resources on, ``ExecutionTraceObserver`` copies what Inductor has generated into the
folder ``NAME_resources`` beside ``NAME.json`` (torch/profiler/profiler.py,
``_save_triton_kernels``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.readers import generated_code
from tb_privateuse1.readers.raw import KernelSource

_MOST_FILES, _MOST_BYTES, _LONGEST = 1000, 32 << 20, 1 << 20
"""A large model has some hundred graphs with 10 to 100 KB each; a hostile folder has no end."""

_PACKED = re.compile(r"\.json(?:\.gz)?$", re.IGNORECASE)


def kernel_sources(path: str) -> tuple[KernelSource, ...]:
    """Return the kernels of the folder beside an execution trace; none if it has no such folder.

    Links are not followed, and a file that cannot be read is left out.
    """
    folder = _PACKED.sub("", path) + "_resources"
    if os.path.islink(folder) or not os.path.isdir(folder):
        return ()
    found: dict[KernelSource, None] = {}
    for file, text in _texts(folder):
        found.update(dict.fromkeys(generated_code.kernels(file, text)))
    return tuple(found)


def _texts(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the generated files, as far as their number and size are plausible."""
    left = _MOST_BYTES
    with os.scandir(folder) as entries:
        names = sorted(one.name for one in entries if one.is_file(follow_symlinks=False))
    for name in [one for one in names if one.endswith(".py")][:_MOST_FILES]:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read(_LONGEST)
        except OSError:
            continue
        left -= len(content)
        if left < 0:
            return
        yield basename(name), content.decode("utf-8", "replace")
