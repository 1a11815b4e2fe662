"""Compute the size of parameters, gradients and optimizer state from recorded shapes.

A trace does not list a model's parameters. But the autograd engine accumulates the gradient of
each, with its shape and type, and a range names the optimizer.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import Trace

_STATES = {
    "Adadelta": 2, "Adafactor": 0, "Adagrad": 1, "Adam": 2, "AdamW": 2, "Adamax": 2, "NAdam": 2,
    "RAdam": 2, "RMSprop": 1, "Rprop": 2,
}  # fmt: skip
"""The least number of parameter-sized tensors that an optimizer of torch.optim holds per
parameter."""

_MOMENTUM = ("aten::mul_", "aten::_foreach_mul_")
"""Operators of SGD that only run with momentum."""

_ITEM_BYTES = {
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "c10::complex<float>": 8,
    "c10::complex<double>": 16,
}  # fmt: skip
"""Element sizes by torch's names of types that have gradients."""

_MOST_BYTES = 1 << 48
"""No tensor is larger; shapes in a file may have any value."""

_ACCUMULATE = "torch::autograd::AccumulateGrad"


def gradient_bytes(trace: Trace, passes: training_phases.Passes, grain: int) -> tuple[int, int]:
    """Return the bytes of all gradients of a backward pass, and of those from before the first one.

    An accumulation that adds in place had a gradient. Sizes are rounded up to ``grain`` bytes.
    """
    ops = trace.ops
    rows = np.flatnonzero(call_tree.starts_with(trace, _ACCUMULATE)[ops.name])
    if not len(rows) or not len(passes.end_ns):
        return 0, 0
    first, code = group_rows(ops.shapes[rows], ops.dtypes[rows])
    columns = (column[rows[first]].tolist() for column in (ops.shapes, ops.dtypes))
    each = [_size(trace.text(s), trace.text(t)) for s, t in zip(*columns, strict=True)]
    size = np.array([-(-one // grain) * grain for one in each], np.int64)[code]
    k = np.searchsorted(passes.end_ns, ops.start_ns[rows], side="right")
    sums = np.bincount(k, size.astype(np.float64))
    adds = np.flatnonzero(call_tree.starts_with(trace, "aten::add_")[ops.name])
    added = mask_of(ops.parent[adds], len(ops))[rows] & (k == 0)
    return int(sums.max()), int(size[added].sum())


def _size(shapes: str, types: str) -> int:
    """Return the bytes of an operator's first input, 0 if unknown."""
    try:
        dims = msgspec.json.decode(shapes)[0]
        item = _ITEM_BYTES[msgspec.json.decode(types)[0]]
        size = item * math.prod(int(d) for d in dims)
    except (msgspec.DecodeError, LookupError, TypeError, ValueError, OverflowError):
        return 0
    return size if 0 <= size <= _MOST_BYTES else 0


def optimizer_states(trace: Trace) -> int:
    """Return how many parameter-sized tensors the optimizer holds per parameter; 0 if unknown."""
    kind = training_phases.phase_kinds(trace)
    names = {trace.text(n) for n in np.unique(trace.ops.name[kind == training_phases.STEPPING])}
    if len(names) != 1:
        return 0
    word = names.pop().removeprefix(training_phases.OPTIMIZER).partition(".")[0]
    if word != "SGD":
        return _STATES.get(word, 0)
    ops = trace.ops
    used = np.flatnonzero(call_tree.starts_with(trace, *_MOMENTUM)[ops.name]).astype(np.int32)
    near = training_phases.phases_around(trace, used, ops.thread[used], ops.start_ns[used])
    return int((near.kind == training_phases.STEPPING).any())
