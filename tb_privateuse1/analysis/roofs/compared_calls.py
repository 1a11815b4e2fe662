"""Time the distinct calls of a recording, where nothing disturbed them."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS, Kind
from tb_privateuse1.analysis.roofs.undisturbed import undisturbed
from tb_privateuse1.analysis.work.arguments import Arguments, Input, Tensor, UnknownWork
from tb_privateuse1.analysis.work.calls import group_calls, read_call
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.model import KERNEL, MISSING, OPERATOR, Trace
from tb_privateuse1.trace.statistics import sort_groups
from tb_privateuse1.trace.table import F64, I64, Bools, Table

PRODUCTS: tuple[Kind, ...] = ("gemm", "convolution")
PASSES: tuple[Kind, ...] = (
    "elementwise", "normalization", "reduction", "softmax_loss", "pooling",
)  # fmt: skip
"""Kinds whose time the values of their inputs do not decide, unlike that of indices and sorts."""
_OVERLAP = 0.05
"""The share of a call in which another thread may run, as of ``undisturbed``."""


class Calls(Table, frozen=True):
    """Distinct calls with their least and usual time."""

    op: I64
    kind: I64
    """Index into ``KINDS`` of those that may be compared, else ``MISSING``."""
    calls: I64
    total_ns: I64
    least_ns: I64
    """Of the fastest call: nothing interrupted it."""
    median_ns: I64
    high_ns: I64
    """The upper quartile."""
    first_ns: I64
    """The start of the first call."""
    last_ns: I64


def working_time(trace: Trace, chosen: Bools) -> tuple[I64, I64, I64]:
    """Return the operators that work and were not disturbed, with their shortest and longest time.

    On a host alone an operator's time is its own; else it is that of its device activities.
    """
    ops, count = trace.ops, len(trace.ops)
    on_host = is_on_host_alone(trace)
    kernels = (with_host_activities(trace) if on_host else trace).kernels
    used = (kernels.op >= 0) & (kernels.kind == KERNEL) & ~kernels.communication
    works = mask_of(kernels.op[used], count) & chosen & (ops.kind == OPERATOR) & (ops.shapes >= 0)
    if on_host:
        rows = np.flatnonzero(works)
        rows = rows[~_beside_others(trace, rows)]
        duration = ops.end_ns[rows] - ops.start_ns[rows]
        return rows, duration, duration
    unfit = used & (~undisturbed(trace) | (kernels.duration_bound_ns == MISSING))
    rows = np.flatnonzero(works & ~mask_of(kernels.op[unfit], count))
    owner = np.where(used, kernels.op, MISSING)
    duration = groupby.sums(owner[used], (kernels.end_ns - kernels.start_ns)[used], count)[rows]
    bound = groupby.sums(owner[used], kernels.duration_bound_ns[used], count)[rows]
    return rows, np.maximum(duration - bound, 0), duration + bound


def _beside_others(trace: Trace, rows: I64) -> Bools:
    """Return which operators ran while an operator of another thread did."""
    ops = trace.ops
    outer = np.flatnonzero(groupby.outermost_operators(ops))
    start, end, thread = ops.start_ns[rows], ops.end_ns[rows], ops.thread[rows]
    found = np.zeros(len(rows), np.bool_)
    for one in groupby.distinct_values(thread).tolist():
        others = outer[ops.thread[outer] != one]
        busy = intervals.union(ops.start_ns[others], ops.end_ns[others])
        here = thread == one
        beside = intervals.covered_length(busy, start[here], end[here])
        found[here] = beside > _OVERLAP * (end - start)[here]
    return found


def distinct(trace: Trace, rows: I64, shortest_ns: I64, longest_ns: I64) -> tuple[Calls, I64]:
    """Return the distinct calls of these rows, and each row's."""
    first, member = group_calls(trace, rows)
    high = sort_groups(member, longest_ns, len(first))
    same = shortest_ns is longest_ns
    middle = longest_ns if same else (shortest_ns + longest_ns) // 2
    usual = high if same else sort_groups(member, middle, len(first))
    start = trace.ops.start_ns[rows]
    return Calls(
        op=rows[first],
        kind=_kinds(trace, rows[first]),
        calls=np.bincount(member, minlength=len(first)).astype(np.int64),
        total_ns=groupby.sums(member, middle, len(first)),
        least_ns=groupby.minima(member, shortest_ns, len(first)),
        median_ns=usual.quantile(0.5, MISSING),
        high_ns=high.quantile(0.75, MISSING),
        first_ns=groupby.minima(member, start, len(first)),
        last_ns=groupby.maxima(member, start, len(first)),
    ), member


def _kinds(trace: Trace, op: I64) -> I64:
    """Return the kind of each call that may be compared, else ``MISSING``.

    On a device without a known cache only products and own operators: others may find their inputs
    in it.
    """
    compared = PRODUCTS + (PASSES if is_on_host_alone(trace) else ())
    kind = name_categories(trace)[trace.ops.name[op]].astype(np.int64)
    known = np.isin(kind, [KINDS.index(one) for one in compared]) & operator_work(trace).known[op]
    own = groupby.named_rows(trace.strings, trace.ops.name[op], is_own)
    return np.where(known | own, kind, MISSING)


Containment = Literal["sizes", "layout"]
"""``sizes``: nothing else differs; ``layout``: the smaller inputs lie in jumps in memory."""

_LIBRARIES = re.compile(
    r"^(aten|prims?|torch\w*|autograd|profiler|c10d\w*|quantized|mkldnn|inductor|higher_order"
    r"|fbgemm|xformers|flash_attn\w*|vllm\w*|sgl\w*|_C\w*|_moe_C\w*|bitsandbytes)::"
)
"""Namespaces of torch, of its family, and of libraries that programs take as they are."""
_SCOPED = re.compile(r"^[A-Za-z]\w*::\w+$")
_NOT_WORK: tuple[Kind, ...] = ("communication", "view", "allocation", "autograd")
_ARRANGED: tuple[Kind, ...] = ("gemm", "convolution")
_LAYOUT_DIMS = 2
"""A product takes either order of the last two dimensions, if one has neighbors in memory."""


def is_own(name: str) -> bool:
    """Return whether an operator of this name is the program's or a backend's own."""
    return bool(_SCOPED.match(name)) and not _LIBRARIES.match(name)


def containment(trace: Trace, row: int, peer: int, kind: Kind) -> Containment | None:
    """Return in what way a call, a row of ``trace.ops``, is contained in another one, or None."""
    own, other = read_call(trace, row), read_call(trace, peer)
    if own is None or other is None or len(own.inputs) != len(other.inputs):
        return None
    weight = None
    if kind == "convolution":
        weight = 2 if "backward" in own.name else 1
    if not _same_values(own, other, grouped=weight is not None):
        return None
    relations = [
        _of_inputs(one, larger, kind, is_weight=at == weight)
        for at, (one, larger) in enumerate(zip(own.inputs, other.inputs, strict=True))
    ]
    if None in relations or kind in _NOT_WORK or not any(own.tensors()):
        return None
    if "layout" not in relations:
        return "sizes"
    # Others of torch pass over memory, and a copy in order takes as long as they do.
    return "layout" if kind in _ARRANGED or is_own(own.name) else None


def _same_values(own: Arguments, other: Arguments, *, grouped: bool) -> bool:
    """Return whether all other arguments are equal; convolutions may have fewer groups.

    Weights of groups are those of fewer groups with zeros between them.
    """
    pairs = list(zip(own.values, other.values, strict=True))
    different = [pair for pair in pairs if pair[0] != pair[1]]
    if not different:
        return True
    (more, fewer) = different[0]
    return (
        grouped
        and len(different) == 1
        and more.isdecimal()
        and fewer.isdecimal()
        and int(fewer) > 0
        and int(more) % int(fewer) == 0
    )


def _of_inputs(own: Input, other: Input, kind: Kind, *, is_weight: bool) -> Containment | None:
    if own is None or other is None:
        return "sizes" if own is other else None
    if isinstance(own, Tensor) and isinstance(other, Tensor):
        return _of_tensors(own, other, kind, is_weight=is_weight)
    if isinstance(own, tuple) and isinstance(other, tuple) and len(own) == len(other):
        found = [
            _of_tensors(one, larger, kind, is_weight=is_weight)
            for one, larger in zip(own, other, strict=True)
        ]
        if None in found:
            return None
        return "layout" if "layout" in found else "sizes"
    return None


def _of_tensors(own: Tensor, other: Tensor, kind: Kind, *, is_weight: bool) -> Containment | None:
    if len(own.shape) != len(other.shape) or own.strides is None or other.strides is None:
        return None
    if any(size > larger for size, larger in zip(own.shape, other.shape, strict=True)):
        return None
    # The window of a convolution is no size of its work: another one is another result.
    if is_weight and own.shape[2:] != other.shape[2:]:
        return None
    used = [at for at, size in enumerate(own.shape) if size > 1]
    if _order(own, used) == _order(other, used):
        return "sizes"
    jumps = _in_jumps(own, used, kind) and not _in_jumps(other, used, kind)
    return "layout" if jumps else None


def _order(tensor: Tensor, used: list[int]) -> tuple[tuple[int, ...], bool, bool]:
    """Return some dimensions by their strides, and of all whether neighbors are together, and
    whether elements are repeated.
    """
    strides = tensor.strides or ()
    order = tuple(sorted(used, key=lambda at: -strides[at]))
    moving = [one for one, size in zip(strides, tensor.shape, strict=True) if size > 1]
    return order, min(moving, default=1) <= 1, 0 in moving


def _in_jumps(tensor: Tensor, used: list[int], kind: Kind) -> bool:
    """Return whether an operator has to jump in memory: products take transposed matrices."""
    strides = list(tensor.strides or ())
    last = [at for at in range(len(tensor.shape))[-_LAYOUT_DIMS:] if at in used]
    if kind in _ARRANGED:
        return min((strides[at] for at in last), default=1) > 1
    return bool(used) and _order(tensor, used)[0] != tuple(used)


_COLD_BYTES_PER_NS = 4.0
"""What a core of a loaded server reads of memory at least: a sum over 64 MB reached 6."""
_FRESH_BYTES_PER_NS = 0.5
"""What it writes to pages that the system clears first: 1 under a hypervisor, measured."""
_COMPARABLE = 2.0
"""A pass over at least half of the bytes shows what they may take, and what a product's may."""


def memory_ns(trace: Trace, calls: Calls, at: int) -> float:
    """Return the most time that a call may spend on memory which the calls of others do not.

    It is that of its bytes at the rate of this recording's slowest pass over as many. Without one,
    and for calls that are passes themselves, it is not less than that of cold or fresh memory of a
    host.
    """
    work, row = operator_work(trace), int(calls.op[at])
    read, written = int(work.read_bytes[row]), int(work.written_bytes[row])
    if MISSING in (read, written):
        read = written = input_bytes(trace, row)
    seen = _slowest_pass(trace, calls, at, read + written)
    if not is_on_host_alone(trace):
        return (read + written) * seen
    known = read / _COLD_BYTES_PER_NS + written / _FRESH_BYTES_PER_NS
    is_product = int(calls.kind[at]) in [KINDS.index(one) for one in PRODUCTS]
    return (read + written) * seen if seen and is_product else max((read + written) * seen, known)


def _slowest_pass(trace: Trace, calls: Calls, at: int, size: int) -> float:
    """Return the time for each byte of the slowest other call that only passes; 0 without any."""
    work = operator_work(trace)
    read, written = work.read_bytes[calls.op], work.written_bytes[calls.op]
    kind = name_categories(trace)[trace.ops.name[calls.op]]
    passes = np.isin(kind, [KINDS.index(one) for one in PASSES])
    passes &= (read != MISSING) & (written > 0) & ((read + written) * _COMPARABLE >= size)
    passes[at] = False
    per_byte: F64 = calls.high_ns / np.maximum(read + written, 1)
    return float(per_byte[passes].max(initial=0.0))


def input_bytes(trace: Trace, row: int) -> int:
    """Return the bytes of the inputs of a row of ``trace.ops``; 0 if a type is unknown."""
    call = read_call(trace, row)
    try:
        return sum(one.bytes for one in call.tensors()) if call else 0
    except UnknownWork:
        return 0
