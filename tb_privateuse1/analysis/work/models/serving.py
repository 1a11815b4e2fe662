"""Custom operators of vLLM and symmetric memory that write into what they are given.

Mixtures of experts and attention over a cache depend on values that no recording has: unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.base import Model, Work, read_of, written_of


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
    "multimem_all_reduce": summed_in_place,
    "two_shot_all_reduce": summed_in_place,
    "one_shot_all_reduce": summed_in_place,
}
