from __future__ import annotations

from tests.unit.analysis.work.calls import moved, tensor, work

HALF, FP8 = "c10::BFloat16", "c10::Float8_e4m3fn"
X = tensor(6, 8, dtype=HALF)


def test_rotation_in_place() -> None:
    positions, cache = tensor(6, dtype="long int"), tensor(100, 8, dtype=HALF)
    assert moved("_C::rotary_embedding", positions, X, X, 8, cache, True) == (48 + 192, 192)
    assert moved("_C::rotary_embedding", positions, X, None, 8, cache, True) == (48 + 96, 96)


def test_quantization() -> None:
    assert moved("_C::static_scaled_fp8_quant", tensor(6, 8, dtype=FP8), X, tensor(1)) == (96, 48)
    assert work("_C::static_scaled_fp8_quant", tensor(5, dtype=FP8), X, tensor(1)) is None


def test_the_cache_has_a_type_of_its_own() -> None:
    cache, slots = tensor(9, 16, 8, dtype=FP8), tensor(6, dtype="long int")
    name = "_C_cache_ops::reshape_and_cache_flash"
    assert moved(name, X, X, cache, cache, slots, "fp8") == (192 + 48, 96)


def test_a_sum_over_devices() -> None:
    assert moved("symm_mem::multimem_all_reduce_", X, "sum", "0") == (96, 96)
    assert work("symm_mem::multimem_all_reduce_", "sum", "0") is None
