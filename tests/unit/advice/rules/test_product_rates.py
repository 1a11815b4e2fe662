"""Products below the best rate of the recording."""

from tb_privateuse1.advice.rules.product_rates import RULE
from tests.support import chains, make
from tests.support.program import found
from tests.support.sized import SizedProgram, full, recorded

H100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}]


def program(slow: float, m: int = 4096, k: int = 1024, n: int = 2048) -> SizedProgram:
    def layer(run: SizedProgram) -> None:
        run.product(m, k, n, slow=slow)

    return chains.program(layer)


def test_a_shape_far_below_its_siblings() -> None:
    (row,) = found(RULE, program(slow=2).trace())
    assert row.title == "Products far below the best rate here: 1 shape"
    assert row.events == 4 * 6
    # Of 516 us a layer, 344 - 172 / 0.9 go: 30 %, at most.
    assert row.saving_share is not None
    assert 0.2 < row.saving_share < 0.36
    assert "49.94 TFLOP/s" in row.explanation
    assert "98.73 TFLOP/s" in row.explanation


def test_a_little_less_is_usual() -> None:
    assert found(RULE, program(slow=1.2).trace()) == []


def test_small_products_cannot_fill_a_device() -> None:
    assert found(RULE, program(slow=8, m=256, k=256, n=256).trace()) == []


def test_the_reason_is_named_where_the_shape_shows_it() -> None:
    (row,) = found(RULE, program(slow=2, n=2047).trace(deviceProperties=H100))
    assert "no multiples of 8" in row.explanation
    (row,) = found(RULE, program(slow=4, m=512, k=32768, n=512).trace(deviceProperties=H100))
    assert "let the library split the sum" in row.explanation
    (row,) = found(RULE, program(slow=4, m=512, k=8192, n=1024).trace(deviceProperties=H100))
    assert "32 tiles for 132 units" in row.explanation


def test_attention_by_hand_is_not_a_matter_of_shapes() -> None:
    def layer(run: SizedProgram) -> None:
        chains.scores(batch=16, length=2048)(run)

    trace = chains.program(layer).trace()
    assert found(RULE, trace) == []


def test_products_of_batches_are_a_kind_of_their_own() -> None:
    def layer(run: SizedProgram) -> None:
        run.run("aten::bmm", full(64, 512, 512), full(64, 512, 512))
        run.run("aten::bmm", full(64, 512, 512), full(64, 512, 516), slow=3)

    (row,) = found(RULE, chains.program(layer).trace(deviceProperties=H100))
    assert row.title == "Products of batches far below the best rate here: 1 shape"
    assert "no multiples of 8" in row.explanation


def on_host(ms: float) -> SizedProgram:
    """Products on a host alone: a good one, and one with a long inner size, 8 ms if as good."""
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 1000, **recorded(full(4096, 64), full(64, 64)))
            run.op("aten::mm", 1000 * ms, **recorded(full(64, 32768), full(32768, 64)))
    return run


def test_a_host_has_a_best_rate_as_well() -> None:
    (row,) = found(RULE, on_host(32).trace())
    assert "8.389 GFLOP/s, while calls of the same kind and type reach 33.55 GFLOP/s" in (
        row.explanation
    )
    assert "let the library split the sum" in row.explanation
    assert row.saving_share is not None
    assert 0.65 < row.saving_share < 0.75


def test_a_hosts_rates_vary() -> None:
    assert found(RULE, on_host(12).trace()) == []


def test_calls_beside_another_thread_say_nothing() -> None:
    run = on_host(32)
    run.events.append(make.op("aten::mul", 0, run.now, thread=9))
    assert found(RULE, run.trace()) == []


def test_a_host_beside_an_accelerator_may_only_launch() -> None:
    assert found(RULE, on_host(32).trace(deviceProperties=H100)) == []
