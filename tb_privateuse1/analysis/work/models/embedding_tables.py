"""Work of FBGEMM's batched embedding tables: many tables in one tensor, read by one kernel.

Their arguments are in FBGEMM's templates (github.com/pytorch/FBGEMM, fbgemm_gpu/codegen): weights,
``weights_offsets`` of T tables, ``D_offsets`` of T + 1, ``total_D``, ``indices`` and ``offsets`` of
T x B + 1. Versions add others between them, so the form of the tensors decides and not the place.

``total_D`` is the width of all tables together, and how often each is looked up is not recorded:
a row has the tables' mean width. Rows that are looked up again may come from a cache, and no more
than all rows need to be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork, item_bytes
from tb_privateuse1.analysis.work.call_work import Model, Related, Work, known_sum, written_of

LOOKUP, FORWARD, BACKWARD, NODE, WEIGHTS_GRADIENT = (
    "embedding_tables_lookup",
    "embedding_tables_forward",
    "embedding_tables_backward",
    "embedding_tables_node",
    "embedding_tables_weights_gradient",
)
FORMS = (
    (re.compile(r"split_embedding_codegen_grad_indice_weights_(?!vbe)\w+$"), WEIGHTS_GRADIENT),
    (re.compile(r"(split|dense|ssd)_embedding_codegen_lookup_(?!\w*vbe)\w+$"), LOOKUP),
    (re.compile(r"(split|dense|ssd)_embedding_codegen_forward_(?!\w*vbe)\w+$"), FORWARD),
    (re.compile(r"(split|dense|ssd)_embedding_backward_codegen_(?!\w*vbe)\w+$"), BACKWARD),
    (re.compile(r"(Split|Dense|SSD)LookupFunction_\w+$"), NODE),
)
"""Names by optimizer, device and weighting; the variants with another batch per table (``vbe``) and
without pooling (``nobag``) have other results."""

WORDS = ("_embedding_", "LookupFunction")
"""Each of these names has one of these words; few other names do."""

STEP = 7
"""Operations per element of a row's step, such as row-wise Adagrad's."""
_NO_POOLING = "2"


class _Lookup(Struct, frozen=True):
    """Sizes and inputs of a lookup."""

    tables: int
    batch: int
    weights: Tensor
    indices: Tensor
    offsets: Tensor
    indice_weights: Tensor | None
    width_at: int
    """The position of ``total_D`` in a forward call."""

    def elements(self, total_width: int) -> int:
        """Return the elements of all rows that are looked up, at the tables' mean width."""
        return self.indices.numel * total_width // self.tables

    def touched_bytes(self, total_width: int) -> int:
        """Return the bytes of these rows, each at most once."""
        elements = min(self.elements(total_width), self.weights.numel)
        return elements * item_bytes(self.weights.dtype)

    def index_bytes(self) -> int:
        """Return the bytes of indices, offsets and weights of indices."""
        extra = self.indice_weights.bytes if self.indice_weights else 0
        return self.indices.bytes + self.offsets.bytes + extra


def _is_vector(one: object, *dtypes: str) -> bool:
    return isinstance(one, Tensor) and len(one.shape) == 1 and one.dtype in dtypes


def _lookup(call: Arguments) -> _Lookup:
    inputs = call.inputs
    widths = _width_offsets(call)
    tables = call.tensor(widths).numel - 1
    for at in range(widths + 1, len(inputs) - 1):
        first, second = inputs[at], inputs[at + 1]
        after = inputs[at + 2] if at + 2 < len(inputs) else None
        for dtype in ("int64", "int32"):
            pair = _is_vector(first, dtype) and _is_vector(second, dtype)
            if pair and not _is_vector(after, dtype):
                break
        else:
            continue
        indices, offsets = call.tensor(at), call.tensor(at + 1)
        batch, rest = divmod(offsets.numel - 1, tables)
        if rest or batch < 1 or call.value(at + 2) == _NO_POOLING:
            raise UnknownWork
        weighted = [
            one for one in inputs[at + 2 : at + 4] if isinstance(one, Tensor)
            and one.shape == indices.shape and one.dtype.startswith("float")
        ]  # fmt: skip
        extra = weighted[0] if weighted else None
        return _Lookup(tables, batch, _weights(call, widths), indices, offsets, extra, widths + 1)
    raise UnknownWork


def _width_offsets(call: Arguments) -> int:
    """Return the position of ``D_offsets``: one more than the ``weights_offsets`` before it."""
    for at in range(1, len(call.inputs)):
        before, here = call.inputs[at - 1], call.inputs[at]
        if not (isinstance(before, Tensor) and isinstance(here, Tensor)):
            continue
        fits = here.numel == before.numel + 1 and before.numel > 0
        if fits and _is_vector(here, "int32") and _is_vector(before, "int64"):
            return at
    raise UnknownWork


def _weights(call: Arguments, stop: int) -> Tensor:
    """Return the tensor with the tables: the largest vector of numbers before their offsets.

    There is one in the device's memory, one in the host's, and a cache of its rows.
    """
    kinds = ("float32", "float16", "bfloat16")
    found = [one for one in call.tensors(stop) if len(one.shape) == 1 and one.dtype in kinds]
    weights = max(found, key=lambda one: one.numel, default=None)
    if weights is None or not weights.numel:
        raise UnknownWork
    return weights


def _forward(found: _Lookup, total_width: int, dtype: str) -> Work:
    read = known_sum(lambda: [found.index_bytes(), found.touched_bytes(total_width)])
    written = written_of(((found.batch, total_width), dtype))
    kind = found.weights.dtype
    return Work(found.elements(total_width), read, written, dtype=kind, at_most=True)


def forward(call: Arguments) -> Work:
    """Return the work of a lookup that sums the rows of each bag; the result's type is unknown.

    ``split_embedding_codegen_lookup_…_function`` calls ``…_forward_…``.
    """
    found = _lookup(call)
    return _forward(found, call.integer(found.width_at), "")


def forward_by_gradient(call: Arguments, related: Arguments) -> Work:
    """Return the work of a lookup, with the gradient of its result (B, total_D)."""
    found, grad = _lookup(call), _gradient(related)
    if grad.shape[0] != found.batch:
        raise UnknownWork
    return _forward(found, grad.shape[1], grad.dtype)


def _gradient(call: Arguments) -> Tensor:
    grad = call.tensor(0)
    if len(grad.shape) != 2:
        raise UnknownWork
    return grad


def _backward(found: _Lookup, grad: Tensor) -> Work:
    """Return the work of summing gradients by row, and of the optimizer's step on these rows."""
    if grad.shape[0] != found.batch:
        raise UnknownWork
    width = grad.shape[1]
    touched = known_sum(lambda: [found.touched_bytes(width)])
    read = known_sum(lambda: [found.index_bytes(), grad.bytes, found.touched_bytes(width)])
    flops = found.elements(width) + STEP * min(found.elements(width), found.weights.numel)
    return Work(flops, read, touched, dtype=found.weights.dtype, at_most=True)


def backward(call: Arguments) -> Work:
    """Return the work of ``split_embedding_backward_codegen_…(grad, weights, …)``."""
    return _backward(_lookup(call), _gradient(call))


def backward_by_lookup(call: Arguments, related: Arguments) -> Work:
    """Return the work of the gradient's node, whose only input is the gradient."""
    return _backward(_lookup(related), _gradient(call))


def weights_gradient(call: Arguments) -> Work:
    """Return the work of ``…_grad_indice_weights_…(grad, weights, …)``: a product per index."""
    found, grad = _lookup(call), _gradient(call)
    read = known_sum(lambda: [found.index_bytes(), grad.bytes, found.touched_bytes(grad.shape[1])])
    written = written_of((found.indices.shape, "float32"))
    flops = 2 * found.elements(grad.shape[1])
    return Work(flops, read, written, dtype=found.weights.dtype, at_most=True)


def node(_call: Arguments) -> Work:
    """Raise UnknownWork: a gradient's node has only the gradient (``backward_by_lookup``)."""
    raise UnknownWork


MODELS: Mapping[str, Model] = {
    LOOKUP: forward,
    FORWARD: forward,
    BACKWARD: backward,
    NODE: node,
    WEIGHTS_GRADIENT: weights_gradient,
}

BY_NODE: Mapping[str, Related] = {LOOKUP: forward_by_gradient}
"""Models of lookups that lack the width or the result's type, by their gradient's node."""

BY_LOOKUP: Mapping[str, Related] = {NODE: backward_by_lookup}
"""Models of gradients' nodes, by the lookup that made them."""
