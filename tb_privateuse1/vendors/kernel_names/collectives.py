"""Recognize kernels that communicate, for all libraries and engines, by one table of names.

NCCL's names are ``ncclDevKernel_AllReduce_Sum_bf16_RING_LL``, before 2.19
``ncclKernel_AllReduce_RING_LL_Sum_float``, before 2.12 ``ncclAllReduceRingLLKernel_sum_f32``.
RCCL's are NCCL's, or generic ones. Engines have kernels of their own, which name the library by
their namespace (``deep_ep::internode_ll::dispatch``) or the collective by their words
(``vllm::cross_device_reduce_1stage``). Template arguments and parameters never count.
"""

from __future__ import annotations

import re

from msgspec import Struct

from tb_privateuse1.vendors.kernel_names import data_types
from tb_privateuse1.vendors.kernel_names.kernel import Kernel, KernelName, read_kernel, split_words

SPELLINGS = r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
"""Collectives that no single device has, in snake case."""
OTHER = "other"
"""The kind of a communication that names no collective."""


class Collective(Struct, frozen=True):
    """One kind of collective, and the words of names that have it."""

    kind: str
    """torch's name: ``all_reduce``."""
    title: str
    words: re.Pattern[str]
    """Searched in a name's words, joined by underscores."""


_COLLECTIVES = tuple(
    Collective(kind, title, re.compile(words))
    for kind, title, words in (
        ("reduce_scatter", "reduce-scatter", r"reduce_?scatter|userbuffers_.*_rs(_|$)"),
        ("all_gather", "all-gather", r"all_?gather|userbuffers_.*_ag(_|$)"),
        ("all_reduce", "all-reduce", r"all_?reduce|cross_device_reduce|userbuffers_.*_sum_"),
        ("all_to_all", "all-to-all", r"all_?to_?all"),
        ("all_to_all", "MoE dispatch", r"dispatch"),
        ("all_to_all", "MoE combine", r"combine"),
        ("broadcast", "broadcast", r"broadcast|bcast"),
        ("barrier", "barrier", r"barrier"),
        ("reduce", "reduce", r"reduce"),
        ("gather", "gather", r"gather"),
        ("scatter", "scatter", r"scatter"),
        ("send_recv", "send/recv", r"send_?recv|p2p"),
        ("send", "send", r"send"),
        ("recv", "receive", r"recv|receive"),
    )
)
"""The first match of a name is its kind; libraries spell them differently."""

_LIBRARY = re.compile(
    r"\w*?(?P<anywhere>nccl|rccl)|_?(?P<start>hccl|hcom|cncl|oneccl|xccl|mccl|mscclpp|msccl|"
    r"(?:nv|roc|i)shmemx?(?=i?_)|userbuffers|kuserbuffers|hybrid_ep)|(?P<whole>ccl)$",
    re.IGNORECASE,
)
"""Matches a function or namespace of a library whose kernels all communicate."""
_LOCAL_GROUPS = ("warp", "wave", "wavefront", "block", "cta", "simd", "grid")
_BETWEEN_DEVICES = re.compile(
    "".join(f"(?<!{group}_)" for group in _LOCAL_GROUPS)
    + rf"(?<![a-z0-9])({SPELLINGS}|cross_device|symmetric_memory|multimem|lamport|"
    r"int(er|ra)_?node|ep_(dispatch|combine)|a2_?a_(dispatch|combine)|"
    r"moe_distribute_(dispatch|combine)|on_stream_kernel)"
)
"""Searched in the words of a function and of its namespaces: what only devices together do.

``multimem`` are instructions on the memory of all devices, ``lamport`` waits for what others write,
``intranode`` and ``internode`` are the two ways of expert parallelism, ``on_stream_kernel`` is in
the names of NVSHMEM's collectives. Among the lanes of a warp, or the threads of a block, an
all-reduce is an ordinary reduction.
"""
_EP = re.compile(r"(\w+_)?ep$")
_MOVES_TOKENS = re.compile(r"^(dispatch|combine)|(dispatch|combine)(_kernel)?$")
"""A namespace of a library of expert parallelism, and what its kernels between devices do."""
_GENERATED = re.compile(r"triton_[a-z]+_fused_")
"""Inductor names a kernel by the operators around it; itself it computes on one device."""
_HINT = re.compile(
    rf"ccl|cncl|hcom|shmem|userbuff|hybrid_ep|{SPELLINGS}|cross_?device|symmetric_?memory|multimem|"
    r"lamport|int(er|ra)_?node|(ep|a2_?a|distribute)_?(dispatch|combine)|on_stream_kernel|"
    r"(?<![a-z0-9])([a-z0-9]+_)?ep::.*(dispatch|combine)",
    re.IGNORECASE,
)
"""Matches all that the others do, quickly: few of a recording's kernels communicate."""
_TITLES = {
    "hcom": "HCCL",
    "oneccl": "oneCCL",
    "ccl": "oneCCL",
    "hybrid_ep": "HybridEP",
    "mscclpp": "MSCCL++",
    "userbuffers": "userbuffers",
    "kuserbuffers": "userbuffers",
}
"""Titles that are not the library's name in capital letters."""
_OPERATIONS = ("sum", "prod", "max", "min", "avg")
_MANNERS = {
    "multimem": "multimem",
    "quick": "quick",
    "fusion": "fused",
    "norm": "fused",
    "rmsnorm": "fused",
}
"""Words of engines' own collectives that their display name keeps; without one it is custom."""


def is_collective(name: str) -> bool:
    """Return whether a kernel with this full name communicates with other devices."""
    return _HINT.search(name) is not None and _communicates(read_kernel(name))


def collective_kind(name: str) -> str:
    """Return ``all_reduce`` for ``nccl:all_reduce``, ``ncclDevKernel_AllReduce_Sum_f32``, …

    Of a name that is known to communicate; ``OTHER`` if it names no collective.
    """
    found = _collective(_snake(name))
    return found.kind if found else OTHER


def read_collective(kernel: Kernel) -> KernelName | None:
    """Return ``NCCL all-reduce sum bf16`` of a kernel that communicates."""
    if not _HINT.search(kernel.full) or not _communicates(kernel):
        return None
    words = split_words(kernel.name.replace("int8_t", "int8").replace("uint8_t", "uint8"))
    library = _library(kernel)
    found = _collective("_".join(words)) or _collective("_".join(map(_snake, _path(kernel))))
    manner = next((_MANNERS[word] for word in words if word in _MANNERS), "custom")
    owner = _TITLES.get(library, library.upper()) if library else manner
    if found is None:
        return KernelName(f"{owner} kernel", "communication")
    kind = next((t for word in words if (t := data_types.of_word(word))), None) or (
        kernel.data_type if library is None else None
    )
    if found.kind == "send_recv":
        kind = None  # NCCL's kernel of all types is that of bytes
    said = next((word for word in words if word in _OPERATIONS), None)
    if "reduce" not in found.kind:
        said = None
    return KernelName(
        " ".join(word for word in (owner, found.title, said, kind) if word), "communication"
    )


def _communicates(kernel: Kernel) -> bool:
    if _GENERATED.match(kernel.name):
        return False
    name, *namespaces = _path(kernel)
    return (
        _library(kernel) is not None
        or any(_BETWEEN_DEVICES.search(_snake(part)) for part in (name, *namespaces))
        or (_MOVES_TOKENS.search(_snake(name)) is not None and any(map(_EP.match, namespaces)))
    )


def _library(kernel: Kernel) -> str | None:
    """Return the library whose name a kernel or its namespace has, in lower case."""
    found = next((match for part in _path(kernel) if (match := _LIBRARY.match(part))), None)
    return found[found.lastgroup or 0].lower() if found else None


def _path(kernel: Kernel) -> tuple[str, ...]:
    """Return a kernel's function, then its namespaces."""
    return (kernel.name, *(kernel.part.namespaces if kernel.part else ()))


def _snake(name: str) -> str:
    return "_".join(split_words(name))


def _collective(words: str) -> Collective | None:
    return next((one for one in _COLLECTIVES if one.words.search(words)), None)
