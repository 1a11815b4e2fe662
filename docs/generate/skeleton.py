"""Build the C++ files that ``tb-privateuse1 new-backend`` shares with the reference device.

A line of ``examples/refdevice/csrc`` is left out if it ends with ``// reference only``, lies
between ``// Reference only {`` and ``// Reference only }``, or measures a call (``CallScope``). A
line ``// Vendor: code`` becomes that code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

_REFERENCE = Path(__file__).parents[2] / "examples" / "refdevice" / "csrc"
SHARED = (
    "allocator.cpp",
    "allocator.h",
    "guard.cpp",
    "hooks.cpp",
    "profiler_stubs.cpp",
    "profiler_stubs.h",
)
"""Files that both have."""
_KEPT = {"allocator.h", "profiler_stubs.h"}
"""Headers of the reference device that the skeleton has; ``runtime.h`` stands for all others."""


def shared(name: str) -> Callable[[str], str]:
    """Return the function that builds a shared file, whatever its text is today."""
    return lambda _: re.sub(
        r"\n{3,}", "\n\n", "\n".join(lines((_REFERENCE / name).read_text())) + "\n"
    )


def lines(text: str) -> Iterator[str]:
    """Yield the lines of a file of the reference device as the skeleton has them."""
    left_out, has_runtime = False, False
    for line in text.splitlines():
        if line.strip() in ("// Reference only {", "// Reference only }"):
            left_out = line.endswith("{")
            continue
        if left_out or line.endswith("// reference only") or "CallScope" in line:
            continue
        if (include := re.fullmatch(r'#include "(\w+\.h)"', line)) and include[1] not in _KEPT:
            if not has_runtime:
                yield '#include "runtime.h"'
            has_runtime = True
            continue
        yield _named(re.sub(r"^(\s*)// Vendor: ", r"\1", line))


def _named(line: str) -> str:
    """Return a line with the new backend's name: as C++ namespace, and as users see it."""
    return re.sub(r"namespace refdev\b", "namespace @NAME@_backend", line).replace(
        "refdev", "@NAME@"
    )
