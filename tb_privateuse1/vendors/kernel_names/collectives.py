"""Kernels of communication libraries: NCCL, RCCL, HCCL, oneCCL, and engines' own all-reduces.

NCCL's names are ``ncclDevKernel_AllReduce_Sum_bf16_RING_LL``, before 2.19
``ncclKernel_AllReduce_RING_LL_Sum_float``, before 2.12 ``ncclAllReduceRingLLKernel_sum_f32``.
RCCL's are NCCL's, or generic ones.
"""

from __future__ import annotations

import re

from tb_privateuse1.vendors.kernel_names import data_types
from tb_privateuse1.vendors.kernel_names.kernel import Kernel, KernelName, split_words

_LIBRARY = re.compile(r"(nccl|rccl|hccl|hcom|cncl|oneccl|xccl|mccl|msccl)", re.IGNORECASE)
_TITLES = {"hcom": "HCCL", "oneccl": "oneCCL"}
_COLLECTIVES = (
    ("all-reduce", "all reduce", "allreduce", "cross device reduce"),
    ("all-gather", "all gather", "allgather"),
    ("reduce-scatter", "reduce scatter", "reducescatter"),
    ("all-to-all", "all to all", "alltoall", "alltoallv", "all to allv"),
    ("send/recv", "send recv", "sendrecv"),
    ("broadcast", "broadcast", "bcast"),
    ("barrier", "barrier"),
    ("send", "send"),
    ("receive", "recv", "receive"),
    ("reduce", "reduce"),
)
_OPERATIONS = {"sum": "sum", "prod": "prod", "max": "max", "min": "min", "avg": "avg"}


def read_collective(kernel: Kernel) -> KernelName | None:
    """Return ``NCCL all-reduce sum bf16`` of a kernel that communicates."""
    words = split_words(kernel.name.replace("int8_t", "int8").replace("uint8_t", "uint8"))
    library = _LIBRARY.match(kernel.name)
    collective = _collective(words, library is not None)
    if collective is None:
        return KernelName(f"{_title(library[1])} kernel", "communication") if library else None
    operation = next((word for word in words if word in _OPERATIONS), None)
    kind = next((t for word in words if (t := data_types.of_word(word))), None) or (
        kernel.data_type if library is None else None
    )
    prefix = _title(library[1]) if library else None
    if library is None:
        prefix = next((word for word in ("multimem", "quick", "custom") if word in words), "custom")
    if collective == "send/recv":
        kind = None  # NCCL's kernel of all types is that of bytes
    said = operation if "reduce" in collective and collective != "all-gather" else None
    return KernelName(
        " ".join(word for word in (prefix, collective, said, kind) if word), "communication"
    )


def _title(library: str) -> str:
    return _TITLES.get(library.lower(), library.upper())


def _collective(words: tuple[str, ...], library: bool) -> str | None:
    """Return the collective; without a library's name only one that cannot mean anything else."""
    text = f" {' '.join(words)} "
    for name, *spellings in _COLLECTIVES if library else _COLLECTIVES[:4]:
        if any(f" {one} " in text or (library and f" {one}" in text) for one in spellings):
            return name
    return None
