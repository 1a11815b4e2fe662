"""Work of custom operators of vLLM, SGLang and symmetric memory, which write into an argument.

Mixtures of experts depend on values that no recording has: unknown. Attention over a cache is in
``work.announced_attention``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, read_of, written_of
from tb_privateuse1.analysis.work.models.softmax import FORWARD as SOFTMAX


def rotary(call: Arguments) -> Work:
    """Return the work of ``rotary_embedding(positions, query, key, size, cache, …)``, in place.

    Each element needs two multiplications and an addition.
    """
    positions, query = call.tensor(0), call.tensor(1)
    turned = [query, *([call.tensor(2)] if call.optional(2) is not None else [])]
    elements = sum(one.numel for one in turned)
    read = read_of([positions, *turned])
    return Work(3 * elements, read, read_of(turned), dtype=query.dtype)


def quantized(call: Arguments) -> Work:
    """Return the work of ``static_scaled_fp8_quant(out, x, scale)`` and the dynamic variants."""
    out, x = call.tensor(0), call.tensor(1)
    if out.shape != x.shape:
        raise UnknownWork
    return Work(x.numel, read_of([x]), read_of([out]), dtype=x.dtype)


def cached(call: Arguments) -> Work:
    """Return the work of ``reshape_and_cache(key, value, key_cache, value_cache, slots, …)``."""
    key, value, slots = call.tensor(0), call.tensor(1), call.tensor(4)
    caches = (call.tensor(2).dtype, call.tensor(3).dtype)
    written = written_of((key.shape, caches[0]), (value.shape, caches[1]))
    return Work(0, read_of([key, value, slots]), written, dtype=key.dtype)


def chosen_experts(call: Arguments) -> Work:
    """Return the work of vLLM's ``topk_softmax(weights, indices, …, gating)``, all but the last
    written.
    """
    weights, indices, gating = call.tensor(0), call.tensor(1), call.tensor(3)
    if weights.shape != indices.shape or weights.shape[:-1] != gating.shape[:-1]:
        raise UnknownWork
    written = read_of([weights, indices, call.tensor(2)])
    return Work(SOFTMAX * gating.numel, read_of([gating]), written, dtype=gating.dtype)


def summed_experts(call: Arguments) -> Work:
    """Return the work of vLLM's ``moe_sum(x, out)``: the results of a token's experts."""
    x, out = call.tensor(0), call.tensor(1)
    if len(x.shape) != 3 or (x.shape[0], x.shape[2]) != out.shape:
        raise UnknownWork
    return Work(x.numel, read_of([x]), read_of([out]), dtype=x.dtype)


def summed_into(call: Arguments) -> Work:
    """Return the work of a device's own memory in ``all_reduce(pointer, x, out, …)``."""
    x, out = call.tensor(1), call.tensor(2)
    if x.shape != out.shape:
        raise UnknownWork
    return Work(0, read_of([x]), read_of([out]), dtype=x.dtype)


def summed_in_place(call: Arguments) -> Work:
    """Return the work of ``multimem_all_reduce_(x, op, group)``: a device's own part of x is read
    and written once.
    """
    x = call.tensor(0)
    return Work(0, read_of([x]), read_of([x]), dtype=x.dtype)


MODELS: Mapping[str, Model] = {
    "rotary_embedding": rotary,
    "static_scaled_fp8_quant": quantized,
    "dynamic_scaled_fp8_quant": quantized,
    "dynamic_per_token_scaled_fp8_quant": quantized,
    "reshape_and_cache": cached,
    "reshape_and_cache_flash": cached,
    "static_scaled_int8_quant": quantized,
    "dynamic_scaled_int8_quant": quantized,
    "_moe_C::topk_softmax": chosen_experts,
    "moe_sum": summed_experts,
    "_C_custom_ar::all_reduce": summed_into,
    "sgl_kernel::all_reduce": summed_into,
    "multimem_all_reduce": summed_in_place,
    "two_shot_all_reduce": summed_in_place,
    "one_shot_all_reduce": summed_in_place,
}
