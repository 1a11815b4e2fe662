"""Find operators that worked on tensors of the host, by the memory that they allocated.

Operators on CPU tensors have the names of those on device tensors, and often their shapes. But an
operator that allocated memory of the host for its result, and none of a device, computed there.
Operators that move data are the exception: they read a device and write to the host.
"""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import OPERATOR, Memory, Ops
from tb_privateuse1.trace.table import Bools

_ALLOCATION = re.compile(
    r"^aten::(empty|empty_strided|empty_like|new_empty|new_empty_strided|resize_|resize_output)$"
)
"""An allocation belongs to the operator around it."""

_MOVE = re.compile(
    r"^aten::(copy_|_copy_from\w*|_to_copy|to|_to_cpu|item|_local_scalar_dense|cpu|clone|"
    r"contiguous|is_nonzero|equal|nonzero|pin_memory|_pin_memory)$"
)
"""Operators that may read a device although their result is on the host."""

_FACTORY = re.compile(
    r"^aten::(rand|randn|randint|randperm|zeros|ones|full|arange|eye|linspace|scalar_tensor|normal|"
    r"(rand|randn|zeros|ones|full)_like|new_(zeros|ones|full))$"
)
"""Operators that fill what they allocated: all that is inside works on it."""

_NESTED = 4
"""Allocations inside each other, at most."""


def host_operators(ops: Ops, strings: Strings, memory: Memory) -> Bools:
    """Return the operators that cannot have launched because their tensors are the host's.

    Shape (operators,). Empty of True where the recording has no memory events of a device.
    """
    nothing = np.zeros(len(ops), np.bool_)
    if not (memory.device_type > 0).any():
        return nothing
    used = np.unique(ops.name).tolist()

    def named(pattern: re.Pattern[str]) -> Bools:
        wanted = [i for i in used if pattern.match(strings.all[i])]
        match: Bools = np.isin(ops.name, wanted)
        return match

    own = (memory.op >= 0) & (memory.bytes > 0)
    row, host = memory.op[own].astype(np.int64), memory.device_type[own] == 0
    allocation = named(_ALLOCATION)
    for _ in range(_NESTED):
        row = np.where(allocation[row] & (ops.parent[row] >= 0), ops.parent[row], row)
    on_host, on_device = nothing.copy(), nothing.copy()
    on_host[row[host]] = True
    on_device[row[~host]] = True
    on_device |= intervals.enclosing(ops.parent, on_device)
    moves = named(_MOVE)
    result: Bools = on_host & ~on_device & ~moves & (ops.kind == OPERATOR)
    inside = intervals.nearest(ops.parent, result & named(_FACTORY)) >= 0
    return result | (inside & ~moves & ~on_device)
