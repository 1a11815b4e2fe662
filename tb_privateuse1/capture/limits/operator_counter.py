"""Read how many operators torch's profilers have recorded in this process so far.

Torch numbers them in blocks, one at a time for each thread, by a counter in ``libtorch_cpu.so``
(``torch/csrc/profiler/collection.cpp``, ``EventBlock``). Nothing else of torch tells it while a
recording runs.
"""

from __future__ import annotations

import ctypes
import functools

from tb_privateuse1.capture.backend import torch_library

_BLOCK = 512
"""Operators; part of the symbol's name, so that another torch with another size has none."""
_COUNTER = (
    "_ZZN5torch8profiler4impl19ThreadLocalSubqueue14TorchOpStorage10EventBlockINS1_21Kineto"
    f"ObserverContext5EventELm{_BLOCK}EEC4EvE8counter_"
)


def operators_so_far() -> int | None:
    """Return the number of operators, rounded up for each thread; None if torch has no counter."""
    counter = _counter()
    return None if counter is None else counter.value * _BLOCK


@functools.cache
def _counter() -> ctypes.c_uint64 | None:
    try:
        return ctypes.c_uint64.in_dll(torch_library(), _COUNTER)
    except (OSError, ValueError):  # another platform or version of torch
        return None
