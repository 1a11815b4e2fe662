"""Kernels that Inductor made: each tensor that they are given is read or written once.

The arguments of a launch are recorded, not what it computes (``kernel_flop`` and ``kernel_num_gb``
are not read): operations are unknown.
"""

from __future__ import annotations

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.base import Work, read_of

PREFIX = "triton_"


def triton_kernel(call: Arguments) -> Work:
    """Return the work of a Triton kernel of Inductor, whose last pointer is a result.

    A pointer that is both read and written counts once: bytes are a lower bound.
    """
    tensors = list(call.tensors())
    if not tensors:
        raise UnknownWork
    return Work(None, read_of(tensors[:-1]), read_of(tensors[-1:]), dtype=tensors[-1].dtype)
