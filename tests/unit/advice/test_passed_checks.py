"""Statements about what costs nothing: only where it is known, and no finding differs."""

from __future__ import annotations

from tb_privateuse1.advice.engine import advise
from tests.support import chinese
from tests.support.program import Program, device_bound
from tests.support.sized import SizedProgram, full, recorded


def names(run: Program) -> list[str]:
    found = advise(run.trace()).fine
    chinese.check(row.statement for row in found)
    assert all(0 <= row.share < 1 for row in found)
    return [row.name for row in found]


def test_a_busy_device_with_even_steps() -> None:
    assert names(device_bound()) == ["host", "blocking", "allocator", "steps"]


def test_a_finding_is_not_called_fine() -> None:
    """The reads are 1 % or less in the calls; the device idles after them."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(20):
                run.op("aten::mm", 10, kernel=100)
            with run.around("aten::item"):
                run.wait()
            run.rest(200)
    answer = advise(run.trace())
    assert {row.rule for row in answer.rows} & {"item_sync"}
    assert "blocking" not in [row.name for row in answer.fine]


def test_fused_attention_is_said() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(60):
                run.op("aten::_flash_attention_forward", 10, kernel=100, device="flash_fwd_kernel")
    assert "attention" in names(run)


def products(slow: float) -> SizedProgram:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(30):
                with run.around("aten::mm", 2, **recorded(full(4096, 4096), full(4096, 4096))):
                    run.launch("sm90_xmma_gemm_bf16bf16_tensor16816", slow * 140)
            run.wait()
    return run


def test_products_near_their_roof_on_matrix_units() -> None:
    """The data sheet has 989 TFLOP/s: 139 us for these products."""
    h100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132, "computeMajor": 9}]
    found = {row.name: row for row in advise(products(1.2).trace(deviceProperties=h100)).fine}
    chinese.check(row.statement for row in found.values())
    assert 0.75 < found["products"].share < 0.9
    assert found["matrix_units"].share == 1
    assert "Tensor Cores" in found["matrix_units"].statement
    slower = advise(products(2).trace(deviceProperties=h100)).fine
    assert "products" not in [row.name for row in slower]


def test_a_rate_of_the_recording_itself_proves_nothing() -> None:
    assert "products" not in [row.name for row in advise(products(1.2).trace()).fine]


def test_nothing_is_said_without_a_device_or_of_a_few_activities() -> None:
    assert names(Program()) == []
    short = Program()
    short.op("aten::mm", 10, kernel=1000)
    assert names(short) == []
