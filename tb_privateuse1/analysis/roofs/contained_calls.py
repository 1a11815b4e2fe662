"""Tell whether the inputs of a call fit into those of another call of the same operator."""

from __future__ import annotations

import re
from typing import Literal

from tb_privateuse1.analysis.operators.kinds_of_work import Kind
from tb_privateuse1.analysis.work.arguments import Arguments, Input, Tensor
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace.model import Trace

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
