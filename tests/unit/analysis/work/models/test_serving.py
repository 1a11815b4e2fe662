"""FLOPs and bytes of an inference server's operators: rotation, quantization, cache."""

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


def test_gated_activations_and_norms_of_engines() -> None:
    half = tensor(6, 4, dtype=HALF)
    for name in ("_C::silu_and_mul", "sgl_kernel::gelu_tanh_and_mul", "_C::mul_and_silu"):
        assert moved(name, half, X) == (96, 48)
    weight, fp8 = tensor(8, dtype=HALF), tensor(6, 8, dtype=FP8)
    assert moved("sgl_kernel::rmsnorm", X, X, weight, 1e-5) == (112, 96)
    assert moved("_C::rms_norm_static_fp8_quant", fp8, X, weight, tensor(1), 1e-5) == (112, 48)
    assert moved("sgl_kernel::fused_add_rmsnorm", X, X, weight, 1e-5) == (208, 192)


def test_experts() -> None:
    chosen, places, gating = tensor(6, 2), tensor(6, 2, dtype="int"), tensor(6, 128)
    name = "_moe_C::topk_softmax"
    assert moved(name, chosen, places, places, gating) == (4 * 6 * 128, 3 * 48)
    assert work(name, chosen, tensor(6, 3), places, gating) is None
    assert moved("_moe_C::moe_sum", tensor(6, 2, 8), tensor(6, 8)) == (384, 192)
    assert work("_moe_C::moe_sum", tensor(6, 2, 8), tensor(6, 9)) is None


def test_an_all_reduce_through_shared_memory() -> None:
    assert moved("_C_custom_ar::all_reduce", 140, X, X, 0, 0) == (96, 96)
    assert work("_C_custom_ar::all_reduce", 140, X, tensor(3), 0, 0) is None
