"""Functions of the program's source as the capture read them: names and lines of calls."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class SourceFunction(Struct, frozen=True):
    """A function of the user's source file, unchanged when the recording began."""

    file: str
    """The whole path on the machine of the recording."""
    line: int
    """Where it begins, as the profiler counts: its first decorator, if it has one."""
    name: str
    """The qualified name, such as ``Qwen2MLP.forward``."""
    calls: Mapping[str, tuple[int, ...]]
    """The lines of its calls by the callee's last name, or ``nn.Module: Linear`` for a module."""
