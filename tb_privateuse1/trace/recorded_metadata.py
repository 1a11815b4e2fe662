"""Tables of metadata in a file, and of what lies beside it: sources, torch's log, a snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from tb_privateuse1.trace.table import (
    Bools,
    Code,
    MaybeText,
    Name,
    Nanoseconds,
    Number,
    SmallNumber,
    Table,
)

GRAPH_BREAK, RECOMPILATION, CACHE_HIT, CACHE_MISS, CACHE_BYPASS, GRAPH_SKIP = range(6)
NOTE_KINDS = (
    "graph_break",
    "recompilation",
    "cache_hit",
    "cache_miss",
    "cache_bypass",
    "graph_skip",
)
"""By the code of ``CompileNotes.kind``."""

IN_USE, PENDING, FREE = range(3)
BLOCK_STATES = ("in_use", "pending", "free")
"""By the code of ``MemoryBlocks.state``: ``pending`` is released, and waits for a stream."""

REGION = re.compile(r"^Torch-Compiled Region: (\S+)$")
"""The range of a call of compiled code; group 1 is its compile id."""
GRAPH_CALL = re.compile(r"^## Call CompiledFxGraph (\S+) ##$")
"""The range of a call of a graph that Inductor has compiled; group 1 is its key in the cache."""

LEAST_UNIX_NS = 10**18
"""September 2001: an earlier base of a trace's times is no Unix time, which those of a log are."""


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


class RecordedMetadata(Table, frozen=True):
    """Entries of the program (``prof.add_metadata``) or of its profiler, in the order of the file.

    Both columns are indices into ``Trace.strings``. A value that is no text is JSON.
    """

    key: MaybeText
    value: MaybeText


class KernelSources(Table, frozen=True):
    """Kernels with what their compiler wrote; a name occurs once per file that has it.

    All columns are indices into ``Trace.strings``.
    """

    name: MaybeText
    """As device activities have it."""
    file: MaybeText
    """The name of the generated file."""
    text: MaybeText


class Compilations(Table, frozen=True):
    """Compilations of torch.compile, in the order of its log.

    ``compile_id`` is torch's, as in ``Torch-Compiled Region: 0/0``. Each phase contains the next:
    ``total_ns``, ``backend_ns``, ``inductor_ns``, ``codegen_ns``. A time is ``MISSING`` where its
    phase did not run, or did not end. Numbers are ``NONE`` where they are not logged. ``failure``
    is why it gave no code.
    """

    compile_id: Name
    backward: Bools
    function: MaybeText
    file: MaybeText
    line: SmallNumber
    start_ns: Nanoseconds
    total_ns: Nanoseconds
    backend_ns: Nanoseconds
    inductor_ns: Nanoseconds
    codegen_ns: Nanoseconds
    guards: SmallNumber
    operators: SmallNumber
    failure: MaybeText


class CompileNotes(Table, frozen=True):
    """Notes of the log on compilations: graph breaks, recompilations, caches, skips.

    ``reason`` of a recompilation is the guard that failed, that of the last earlier compilation;
    of a cache, its name: ``autograd`` or ``graph``. ``detail`` has the hints of a graph break, the
    guards of the other earlier compilations, and of a cache the key of the graph. ``file`` and
    ``line`` are those of the user's code.
    """

    kind: Code
    compile_id: Name
    reason: Name
    detail: MaybeText
    file: MaybeText
    line: SmallNumber


class MemoryBlocks(Table, frozen=True):
    """The blocks of all segments, by segment and address.

    ``segment`` counts the segments of all devices from 0. ``pool`` is the allocator's kind of
    segment, with the number of a graph's own pool. ``bytes`` are the allocator's, rounded up.
    """

    ORDER = ("segment", "address")

    device_type: Number
    device: Number
    segment: SmallNumber
    pool: MaybeText
    stream: Number
    address: Number
    bytes: Number
    state: Code
    stack: MaybeText
    """Python frames of the allocation, innermost first, joined by ``;``."""


class Refusal(Struct, frozen=True):
    """An allocation that failed for want of memory, in a snapshot's history."""

    device: int
    bytes: int
    """What was asked for."""
    stream: int | None
    device_free_bytes: int | None
    """What the device had left then; None if the snapshot does not say."""
