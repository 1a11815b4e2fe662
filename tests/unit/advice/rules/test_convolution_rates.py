"""Convolutions below the best rate of the recording."""

from typing import Any

from tb_privateuse1.advice.rules.convolution_rates import RULE
from tb_privateuse1.trace.model import Trace
from tests.support.chains import program
from tests.support.program import found
from tests.support.sized import SizedProgram, full, recorded

H100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}]
MI300 = [{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}]


def convolve(
    run: SizedProgram, cin: int = 256, out: int = 256, *, batch: int = 64, groups: int = 1,
    stride: int = 1, slow: float = 1, places: int = 32,
) -> None:  # fmt: skip
    """A convolution of 3 by 3 pixels."""
    run.run(
        "aten::cudnn_convolution", full(batch, cin, places, places),
        full(out, cin // groups, 3, 3), "[1, 1]", f"[{stride}, {stride}]", "[1, 1]", f"{groups}",
        slow=slow,
    )  # fmt: skip


def trace(slow: float, devices: list[dict[str, object]] = H100, **sizes: int) -> Trace:
    """Layers of a good convolution and another one."""

    def layer(run: SizedProgram) -> None:
        convolve(run)
        convolve(run, slow=slow, **sizes)

    return program(layer).trace(deviceProperties=devices)


def test_a_shape_far_below_its_siblings() -> None:
    (row,) = found(RULE, trace(3, out=252))
    assert row.title == "Convolutions far below the best rate here: 1 shape"
    assert row.events == 4 * 6
    assert "(256 to 252) are no multiples of 8" in row.explanation
    assert "33.33 TFLOP/s, while calls of the same kind and type reach 99.88" in row.explanation
    # Of 2283 us, 761 / 0.9 are needed, beside 773 and 86 us: 46 %.
    assert row.saving_share is not None
    assert 0.4 < row.saving_share < 0.5
    assert "42 % to 48 % of the time at 80 to 100 %" in row.how
    assert "cudnn.benchmark" in row.fix


def test_the_vendor_says_what_tunes_its_library() -> None:
    (row,) = found(RULE, trace(3, MI300, out=252))
    assert "MIOPEN_FIND_ENFORCE" in row.fix


def test_a_little_less_is_usual() -> None:
    assert found(RULE, trace(1.5, out=252)) == []


def test_smaller_ones_may_be_slower() -> None:
    assert found(RULE, trace(3, out=128)) == []


def test_another_stride_is_another_kind() -> None:
    assert found(RULE, trace(3, out=1024, stride=2)) == []


def test_groups_are_compared_by_bytes() -> None:
    def layer(run: SizedProgram) -> None:
        convolve(run)
        convolve(run, 1024, 1024, groups=1024)
        convolve(run, 2048, 2048, groups=2048, slow=4)

    (row,) = found(RULE, program(layer).trace(deviceProperties=H100))
    assert "reaches 250 GB/s, while calls of the same kind and type reach 99" in row.explanation
    assert "Its 2,048 groups" in row.explanation


def test_few_channels_are_named() -> None:
    (row,) = found(RULE, trace(3, cin=8, out=4096, places=64))
    assert "It has 8 channels of input" in row.explanation


def test_small_batches_are_named() -> None:
    def layer(run: SizedProgram) -> None:
        convolve(run, 64, 64, batch=4, places=64)
        convolve(run, 2048, 64, batch=1, places=64, slow=4)

    (row,) = found(RULE, program(layer).trace(deviceProperties=H100))
    assert "Its result has 32 tiles for 132 units" in row.explanation


def test_the_order_of_channels_is_named() -> None:
    def layer(run: SizedProgram) -> None:
        convolve(run)
        shapes = full(64, 256, 32, 32), full(512, 256, 3, 3)
        inputs_of = recorded(*shapes, "[1, 1]", "[1, 1]", "[1, 1]", "1")
        with run.around("aten::cudnn_convolution", **inputs_of):
            run.launch("nchwToNhwcKernel", 2000)
            run.launch("conv", 4600)

    (row,) = found(RULE, program(layer).trace(deviceProperties=H100))
    assert "change the order of channels take 43 % of its time on top" in row.explanation


def on_host(slow: float, out: int, **strides: Any) -> Trace:
    """The same on a host alone."""
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for width, us in ((256, 1000.0), (out, 1000 * slow)):
                inputs = (
                    full(1, 256, 32, 32, dtype="float"),
                    full(width, 256, 3, 3, dtype="float"),
                )
                inputs_of = recorded(*inputs, "[1, 1]", "[1, 1]", "[1, 1]", "1")
                run.op("aten::mkldnn_convolution", us, **inputs_of, **strides)
    return run.trace()


def test_the_host_has_a_best_rate_as_well() -> None:
    strides = [[262144, 1024, 32, 1], [2304, 9, 3, 1], [], [], [], []]
    (row,) = found(RULE, on_host(3, out=260, **{"Input Strides": strides}))
    assert "the libraries here compute with the channels last" in row.explanation
    assert "GFLOP/s" in row.explanation
    assert "oneDNN" in row.fix


def test_on_a_host_the_shape_must_show_a_reason() -> None:
    assert found(RULE, on_host(3, out=260)) == []
    assert found(RULE, on_host(1.5, out=260)) == []


def test_half_precision_is_a_type_of_its_own() -> None:
    def layer(run: SizedProgram) -> None:
        convolve(run)
        wide = full(64, 256, 32, 32, dtype="float"), full(256, 256, 3, 3, dtype="float")
        run.run(
            "aten::cudnn_convolution", *wide, "[1, 1]", "[1, 1]", "[1, 1]", "1", slow=4
        )  # fmt: skip

    assert found(RULE, program(layer).trace(deviceProperties=H100)) == []
