"""Number the storages of tensors, so that two of one number share their memory.

An execution trace numbers addresses, and an allocator gives an address again. An operator that
returns a storage which none of its inputs has got new memory for it, or an operator inside did: of
those that nest, the innermost one did. From its start on, the number is another storage's.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.stage_inputs import rows_of
from tb_privateuse1.readers.raw import TensorUses
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.groupby import maxima
from tb_privateuse1.trace.model import NONE, OPERATOR, RETURNED, Ops, Tensors
from tb_privateuse1.trace.table import I32, I64, Bools


def build_tensors(uses: TensorUses, ops: Ops) -> Tensors:
    """Return the tensors of operators, by operator; inputs come before results."""
    if not len(uses):
        return Tensors.empty()
    operators = np.flatnonzero(ops.kind == OPERATOR)
    row = rows_of(ops.event[operators].astype(np.int64), uses.event.astype(np.int64))
    uses = uses.take(row >= 0)
    op = operators[row[row >= 0]].astype(np.int32)
    order = np.lexsort((uses.argument, uses.access == RETURNED, op))
    uses, op = uses.take(order), op[order]
    return Tensors(
        op=op,
        access=uses.access,
        argument=uses.argument,
        storage=_storages(uses, op, ops),
        offset=uses.offset,
        elements=uses.elements,
        item_bytes=uses.item_bytes,
        device_name=uses.device_name,
    )


def _storages(uses: TensorUses, op: I32, ops: Ops) -> I32:
    """Return the number of each tensor's storage: its address, and which tensor's time it is."""
    returned = uses.access == RETURNED
    made = _makers(uses.storage, returned, op, ops)
    # A result is there at its operator's end, and so is what operators inside allocated.
    at = np.where(returned, ops.end_ns[op], ops.start_ns[op])
    time, storage = _ranks(np.where(made, ops.start_ns[op], at), uses.storage, made, at)
    known = uses.storage >= 0
    numbers = np.full(len(op), NONE, np.int32)
    if known.any():
        pairs = np.stack((storage[known], time[known]), axis=1)
        numbers[known] = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        numbers[known] = _without_numbers(
            numbers[known], uses.elements[known], made[known], returned[known]
        )
    return numbers


def _without_numbers(numbers: I32, elements: I64, made: Bools, returned: Bools) -> I32:
    """Return ``NONE`` for tensors that torch makes of Python's numbers, which no operator returns.

    They have one element. A storage of one element is left out; so is an input of one that no
    operator returned as a view of a larger storage, whose address such a tensor may have got.
    """
    single = elements == 1
    count = int(numbers.max()) + 1
    of_made, of_all = maxima(numbers[made], elements[made], count), maxima(numbers, elements, count)
    size = np.where(of_made > 0, of_made, of_all)
    viewed = mask_of(numbers[returned & single], len(size))
    known = (size[numbers] > 1) & (~single | returned | viewed[numbers])
    return np.where(known, numbers, NONE).astype(np.int32)


def _makers(storage: I64, returned: Bools, op: I32, ops: Ops) -> Bools:
    """Return which results are of new memory that the operator itself allocated."""
    taken = _pairs(storage, op)
    fresh = returned & (storage >= 0) & ~np.isin(taken, taken[~returned])
    rows = np.flatnonzero(fresh)
    # By storage, thread and start: an operator inside with the same result directly follows.
    rows = rows[np.lexsort((op[rows], storage[rows]))]
    before, behind = rows[:-1], rows[1:]
    same = storage[before] == storage[behind]
    inside = same & (ops.thread[op[before]] == ops.thread[op[behind]])
    inside &= (ops.end_ns[op[behind]] <= ops.end_ns[op[before]]) & (op[before] != op[behind])
    made = mask_of(rows, len(storage))
    made[before[inside]] = False
    return made


def _pairs(storage: I64, op: I32) -> I64:
    """Return a number for each pair of a storage and an operator."""
    _, code = np.unique(storage, return_inverse=True)
    return code.reshape(-1).astype(np.int64) * (int(op.max(initial=0)) + 1) + op


def _ranks(begin: I64, storage: I64, made: Bools, at: I64) -> tuple[I64, I64]:
    """Return how many storages of the same address were made up to each use, and its address."""
    _, address = np.unique(storage, return_inverse=True)
    address = address.reshape(-1).astype(np.int64)
    _, instant = np.unique(np.concatenate((begin, at)), return_inverse=True)
    instant = instant.reshape(-1)
    span = len(instant) + 1
    births = np.unique(address[made] * span + instant[: len(begin)][made])
    count = np.searchsorted(births, address * span + instant[len(begin) :], side="right")
    return count.astype(np.int64), address
