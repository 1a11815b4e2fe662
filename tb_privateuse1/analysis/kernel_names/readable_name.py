"""Shorten a kernel's name: family, operation, type and tile, by the first parser that knows it."""

from __future__ import annotations

from functools import lru_cache

from tb_privateuse1.analysis.kernel_names.name_words import read_words
from tb_privateuse1.analysis.kernel_names.triton import read_triton
from tb_privateuse1.vendors.kernel_names import (
    KernelName,
    read_kernel,
    read_library,
    short_form,
)

_GRAMMARS = (read_triton, read_library, read_words)
"""In this order; the first that knows a name counts."""


@lru_cache(maxsize=1 << 16)
def read_name(full: str) -> KernelName:
    """Return what a kernel's full name says."""
    kernel = read_kernel(full)
    for read in _GRAMMARS:
        if found := read(kernel):
            one_word = full.isalpha() and full.islower()
            return KernelName(full, found.family) if one_word else found
    return KernelName(short_form(kernel.part) if kernel.part else full, None)


def display_name(full: str) -> str:
    """Return the name that people read."""
    return read_name(full).display
