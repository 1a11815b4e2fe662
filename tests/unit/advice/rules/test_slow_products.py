"""Products in full precision on a device with a faster mode."""

from tb_privateuse1.advice.rules.slow_products import RULE
from tests.support.program import Program, found

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
