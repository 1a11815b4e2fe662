"""Work of fused attention: two products in the forward pass, five in the backward pass.

``flop_counter`` counts all pairs of query and key. Here a causal call counts only the pairs that
its mask leaves, because the kernels skip the others: with all pairs, rates would exceed the device.
Chains of separate products need no model of their own: their products have one.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, read_of, written_of


class _Layout(Struct, frozen=True):
    """Where a variant has its inputs; None if it never has one.

    ``heads_first``: tensors are (batch, heads, tokens, size), else (batch, tokens, heads, size).
    ``ends`` are the positions of the cumulated lengths of queries and keys and of their maxima, for
    tensors of (all tokens, heads, size). ``mask_type`` counts 1 and 2 as causal.
    """

    causal: int | None
    first: int = 0
    heads_first: bool = True
    ends: tuple[int, int, int, int] | None = None
    mask_type: bool = False
    backward: bool = False


class AttentionSizes(Struct, frozen=True):
    """The sizes of queries, keys and values of one call."""

    batch: int
    heads: int
    queries: int
    keys: int
    size: int
    value_size: int

    def pairs(self, causal: bool) -> int:
        """Return the pairs of query and key of one head, the first query with the first key."""
        if not causal:
            return self.queries * self.keys
        square = min(self.queries, self.keys)
        return square * (square + 1) // 2 + (self.queries - square) * self.keys


def _sizes(call: Arguments, layout: _Layout) -> AttentionSizes:
    q, k, v = (call.tensor(layout.first + i) for i in range(3))
    if len(q.shape) == 3 and layout.ends is not None:
        return _packed(call, layout, q, k, v)
    if {len(q.shape), len(k.shape), len(v.shape)} != {4}:
        raise UnknownWork
    tokens, head = (2, 1) if layout.heads_first else (1, 2)
    one = AttentionSizes(
        q.shape[0], q.shape[head], q.shape[tokens], k.shape[tokens], q.shape[3], v.shape[3]
    )
    if k.shape[0] != one.batch or v.shape[tokens] != one.keys or k.shape[3] != one.size:
        raise UnknownWork
    return one


def attention_sizes(name: str, call: Arguments) -> AttentionSizes | None:
    """Return the sizes of a call of fused attention by its reduced name; None if not known."""
    layout = _VARIANTS.get(name)
    if layout is None or layout.backward:
        return None
    try:
        return _sizes(call, layout)
    except UnknownWork:
        return None


def _packed(call: Arguments, layout: _Layout, q: Tensor, k: Tensor, v: Tensor) -> AttentionSizes:
    """Return the sizes of sequences in one row of tokens, if they must be equally long.

    The lengths are in a tensor. They are equal if the longest, times their number, is all.
    """
    assert layout.ends is not None
    ends_q, ends_k, longest_q, longest_k = layout.ends
    batch = call.tensor(ends_q).shape[0] - 1 if call.tensor(ends_q).shape else 0
    longest, keys = call.integer(longest_q), call.integer(longest_k)
    if call.tensor(ends_k).shape != (batch + 1,) or batch < 1 or len(k.shape) != 3:
        raise UnknownWork
    if batch * longest != q.shape[0] or batch * keys != k.shape[0] or len(v.shape) != 3:
        raise UnknownWork
    return AttentionSizes(batch, q.shape[1], longest, keys, q.shape[2], v.shape[2])


def _causal(call: Arguments, layout: _Layout) -> bool:
    if layout.causal is None:
        return False
    if layout.mask_type:
        return call.integer(layout.causal) != 0
    return call.flag(layout.causal)


def _model(layout: _Layout) -> Model:
    """Return the model of a variant."""

    def work(call: Arguments) -> Work:
        sizes = _sizes(call, layout)
        pairs = sizes.batch * sizes.heads * sizes.pairs(_causal(call, layout))
        q, k, v = (call.tensor(layout.first + i) for i in range(3))
        if layout.backward:
            # Scores again, and the gradients of query, key, value and probabilities.
            flops = 2 * pairs * (3 * sizes.size + 2 * sizes.value_size)
            written = written_of(*((t.shape, t.dtype) for t in (q, k, v)))
        else:
            flops = 2 * pairs * (sizes.size + sizes.value_size)
            statistics = (sizes.batch, sizes.heads, sizes.queries)
            out = (*q.shape[:-1], v.shape[-1])
            written = written_of((out, q.dtype), (statistics, "float32"))
        read = read_of(one for one in call.tensors() if one.dtype == q.dtype)
        return Work(flops, read, written, matrix=True, dtype=q.dtype)

    return work


def _paged(first: int) -> Model:
    """Return the model of vLLM's ``paged_attention_v1(out, query, key_cache, value_cache, …)``.

    ``first`` is the position of the query: ``paged_attention_v2`` has three more results before it.
    The lengths of the contexts are in a tensor; only that of a single sequence is recorded too, as
    the maximum. Of several sequences, the block table only limits their work: unknown.
    """

    def work(call: Arguments) -> Work:
        out, q, lengths = call.tensor(0), call.tensor(first), call.tensor(first + 6)
        if len(q.shape) != 3 or lengths.shape != (1,) or q.shape[0] != 1:
            raise UnknownWork
        context, heads, size = call.integer(first + 8), q.shape[1], q.shape[2]
        cache = 2 * context * call.integer(first + 3) * size
        item = call.tensor(first + 1)
        stored = read_of([Tensor((cache,), item.dtype, cache)])
        read = read_of([q])
        return Work(
            4 * context * heads * size,
            None if stored is None or read is None else stored + read,
            read_of([out]),
            matrix=True,
            dtype=q.dtype,
        )

    return work


_VARIANTS: Mapping[str, _Layout] = {
    "scaled_dot_product_attention": _Layout(5),
    "_scaled_dot_product_flash_attention": _Layout(4),
    "_scaled_dot_product_flash_attention_for_cpu": _Layout(4),
    "_scaled_dot_product_efficient_attention": _Layout(6),
    "_scaled_dot_product_attention": _Layout(6),
    "_scaled_dot_product_fused_attention_overrideable": _Layout(5),
    "_flash_attention_forward": _Layout(8, heads_first=False, ends=(3, 4, 5, 6)),
    "_efficient_attention_forward": _Layout(9, heads_first=False, mask_type=True),
    "_attention_forward": _Layout(10),
    "_flash_attn_forward": _Layout(5, heads_first=False),
    "_flash_attn_varlen_forward": _Layout(9, heads_first=False, ends=(3, 4, 5, 6)),
    "_scaled_dot_product_flash_attention_backward": _Layout(11, 1, backward=True),
    "_scaled_dot_product_flash_attention_for_cpu_backward": _Layout(7, 1, backward=True),
    "_scaled_dot_product_efficient_attention_backward": _Layout(11, 1, backward=True),
    "_scaled_dot_product_attention_backward": _Layout(14, 1, backward=True),
    "_scaled_dot_product_fused_attention_overrideable_backward": _Layout(13, 1, backward=True),
    "_attention_backward": _Layout(14, 1, backward=True),
    "_flash_attention_backward": _Layout(
        11, 1, heads_first=False, ends=(6, 7, 8, 9), backward=True
    ),
    "_efficient_attention_backward": _Layout(
        14, 1, heads_first=False, mask_type=True, backward=True
    ),
    "_flash_attn_backward": _Layout(11, 1, heads_first=False, backward=True),
    "_flash_attn_varlen_backward": _Layout(
        15, 1, heads_first=False, ends=(9, 10, 11, 12), backward=True
    ),
}

MODELS: Mapping[str, Model] = {
    **{name: _model(layout) for name, layout in _VARIANTS.items()},
    "paged_attention_v1": _paged(1),
    "paged_attention_v2": _paged(4),
}
