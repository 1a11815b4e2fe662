"""Tell Python frames of libraries from those of the user's program, by the paths of their files."""

from __future__ import annotations

import re
import sys

_LIBRARY = re.compile(
    r"^<|^nn\.Module: |(^|/)(torch|torchvision|tb_privateuse1)/|^torch_\w+/"
    r"|(site|dist)-packages/|/lib/python3|^[\w.]+>\("
)
"""Calls without a file, torch, out-of-tree backends (``torch_npu/``), installed packages, and
frozen modules: torch takes ``<frozen `` off ``<frozen importlib._bootstrap>(9)``.

torch takes the folders of ``sys.path`` off the paths, that of installed packages among them: most
packages are then as relative as the user's files.
"""

_TORCH = re.compile(r"(^|/)torch/|^<")

_RELATIVE = re.compile(r"(\w+)(?:/[\w/]+)?\.py\(")

_STANDARD = sys.stdlib_module_names - {"code", "profile", "test", "timeit", "trace"}
"""Users call their own scripts like some of Python's tools, which run in no training."""


def is_library(frame: str) -> bool:
    """Return whether users cannot change the code of a frame: ``torch/x.py(3): f``.

    That is torch's, an installed package's or Python's own.
    """
    if _LIBRARY.search(frame):
        return True
    top = _RELATIVE.match(frame)
    return top is not None and top[1] in _STANDARD


def is_torch(frame: str) -> bool:
    """Return whether a frame is of torch itself, or has no file."""
    return _TORCH.search(frame) is not None
