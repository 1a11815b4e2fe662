"""Products in full precision on a device with a faster mode."""

from tb_privateuse1.advice.rules.slow_products import RULE
from tests.support import chains
from tests.support.program import Program, found
from tests.support.sized import BF16, FP32, SizedProgram

A100 = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]


def program(kernel: str) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(10):
                run.op("aten::mm", 10, kernel=200, device=kernel)
            run.wait()
    return run


def test_a_kernel_that_leaves_the_matrix_units_idle() -> None:
    (row,) = found(RULE, program("ampere_sgemm_128x64_tn").trace(deviceProperties=A100))
    assert row.events == 30
    assert row.saving_share is not None
    assert 0.4 < row.saving_share < 0.5


def test_one_that_uses_them_is_fine() -> None:
    for name in ("ampere_bf16_s16816gemm_bf16", "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n"):
        assert found(RULE, program(name).trace(deviceProperties=A100)) == []


def test_a_device_of_which_nothing_is_known_is_not_judged() -> None:
    other = [{"id": 0, "name": "AMD Instinct MI300X"}]
    assert found(RULE, program("ampere_sgemm_128x64_tn").trace(deviceProperties=other)) == []


def sized(dtype: str, slow: float = 1.0) -> SizedProgram:
    def layer(run: SizedProgram) -> None:
        run.product(4096, 4096, 4096, dtype, slow=slow)
        run.run("aten::relu", chains.XF)

    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(4):
                layer(run)
            run.wait()
    return run


def test_the_data_sheet_says_what_half_precision_saves() -> None:
    h100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
    (row,) = found(RULE, sized(FP32, slow=2.2).trace(deviceProperties=h100))
    assert "By the data sheet" in row.explanation
    # TF32 or float32 by the general units: half precision has at least twice their rate.
    assert row.saving_share is not None
    assert 0.4 < row.saving_share < 0.99
    assert found(RULE, sized(BF16).trace(deviceProperties=h100)) == []


def test_products_as_slow_as_element_wise_work_have_no_unit() -> None:
    """At 1 TB/s, 0.5 TFLOP/s is half a FLOP a byte: no matrix unit is that slow."""
    (row,) = found(RULE, sized(FP32, slow=200).trace())
    assert "No matrix unit is that slow" in row.explanation
    assert (row.saving_ns, row.severity) == (None, "note"), "nothing is known of narrower types"
    assert found(RULE, sized(FP32).trace()) == []
