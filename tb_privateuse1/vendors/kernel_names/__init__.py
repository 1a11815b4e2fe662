"""Parse kernel names as compilers and libraries write them, one file per family.

Names by pattern are a vendor's data. Each file reads what the names of a family of libraries say:
the operation, the data type and the tile.
"""

from __future__ import annotations

from tb_privateuse1.vendors.kernel_names import data_types
from tb_privateuse1.vendors.kernel_names.amd import read_amd
from tb_privateuse1.vendors.kernel_names.aten import read_aten
from tb_privateuse1.vendors.kernel_names.attention import read_attention
from tb_privateuse1.vendors.kernel_names.collectives import (
    OTHER,
    SPELLINGS,
    collective_kind,
    is_collective,
    read_collective,
)
from tb_privateuse1.vendors.kernel_names.copies import move_of, read_copy
from tb_privateuse1.vendors.kernel_names.kernel import (
    Kernel,
    KernelName,
    read_kernel,
    split_words,
)
from tb_privateuse1.vendors.kernel_names.products import read_product
from tb_privateuse1.vendors.kernel_names.short_form import short_form

__all__ = [
    "NOISE",
    "OTHER",
    "SPELLINGS",
    "Kernel",
    "KernelName",
    "collective_kind",
    "data_types",
    "is_collective",
    "move_of",
    "read_kernel",
    "read_library",
    "short_form",
    "split_words",
]

_SILENT = """
    kernel cuda impl codegen vectorized vec dev gpu cunn cu mi open 1c11 new hip npu
    mlu xpu hpu musa
"""
NOISE = frozenset(_SILENT.split())
"""Words of names that say nothing of the work."""

_GRAMMARS = (read_copy, read_collective, read_amd, read_aten, read_attention, read_product)
"""In this order; the first that knows a name counts."""


def read_library(kernel: Kernel) -> KernelName | None:
    """Return what the name of a library's kernel says; None of another name."""
    return next((found for read in _GRAMMARS if (found := read(kernel))), None)
