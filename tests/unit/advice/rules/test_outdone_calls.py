"""Calls that a larger one of the same operator outdoes, and right programs that seem so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tb_privateuse1.advice.rules.outdone_calls import RULE
from tests.support import make
from tests.support.program import Program, found
from tests.support.shared_traces import load
from tests.support.sized import FP32, full, matrix, recorded

GOLDEN = Path(__file__).parents[3] / "traces" / "roofs" / "groups_of_two"
STEPS = 4
COMPLEX = "c10::complex<float>"
Body = Callable[[Program], None]


def call(
    run: Program,
    name: str,
    *shapes: tuple[int, ...],
    us: float,
    strides: list[list[int]] | None = None,
    values: tuple[str, ...] = (),
) -> None:
    """Run an operator on tensors that lie in order, or with these strides."""
    args = recorded(*(full(*shape, dtype=FP32) for shape in shapes), *values)
    in_order = [[int(matrix_size(shape[at + 1 :])) for at in range(len(shape))] for shape in shapes]
    args["Input Strides"] = (in_order if strides is None else strides) + [[] for _ in values]
    run.op(name, us, **args)
    run.rest(1)


def matrix_size(sizes: tuple[int, ...]) -> int:
    """The elements of a tensor."""
    product = 1
    for size in sizes:
        product *= size
    return product


def program(body: Body) -> Program:
    """Steps on a processor."""
    run = Program()
    for _ in range(STEPS):
        with run.step():
            run.rest(1)
            call(run, "aten::relu", (256, 1024), us=200)  # a pass over 2 MB
            body(run)
            run.rest(5)
    return run


def convolution(run: Program, groups: int, us: float, window: int = 3, channels: int = 64) -> None:
    """Convolve channels in groups."""
    each = channels // groups
    args = recorded(
        full(4, channels, 28, 28, dtype=FP32), full(channels, each, window, window, dtype=FP32),
        full(channels, dtype=FP32), "[1, 1]", "[1, 1]", "[1, 1]", str(groups),
    )  # fmt: skip
    args["Input Strides"] = [
        [channels * 784, 784, 28, 1], [each * window**2, window**2, window, 1], [1], *([[]] * 4),
    ]  # fmt: skip
    run.op("aten::mkldnn_convolution", us, **args)
    run.rest(1)


def test_a_recorded_convolution_in_32_groups_takes_longer_than_in_16() -> None:
    (row,) = found(RULE, load(GOLDEN / "before.1.pt.trace.json.gz"))
    assert row.saving_share == pytest.approx(0.279, abs=0.01)


def test_smaller_groups_that_take_longer() -> None:
    def body(run: Program) -> None:
        convolution(run, 16, 1000)
        convolution(run, 32, 4000)

    (row,) = found(RULE, program(body).trace())
    assert row.saving_share == pytest.approx(3000 / 5208, rel=0.02)
    assert row.confidence == "medium"
    assert row.saving_low_ns
    assert '"32"' in row.explanation


def test_a_smaller_product_that_takes_longer() -> None:
    def body(run: Program) -> None:
        call(run, "aten::mm", (1024, 1024), (1024, 8), us=400)
        call(run, "aten::mm", (1024, 1024), (1024, 3), us=4000)

    (row,) = found(RULE, program(body).trace())
    assert row.saving_share == pytest.approx(3600 / 4608, rel=0.02)


def test_own_operators_may_have_a_reason() -> None:
    """Their values may decide: the range begins at nothing."""

    def body(run: Program) -> None:
        call(run, "mine::smooth", (512, 512), us=500)
        call(run, "mine::smooth", (512, 512), us=5000, strides=[[1, 512]])

    (row,) = found(RULE, program(body).trace())
    assert (row.saving_low_ns, row.confidence) == (0, "low")
    assert "[[1,512]]" in row.explanation.replace(" ", "")


def product(run: Program, rows: int, us: float, width: int = 512) -> None:
    """Multiply some rows, which a pass over 2 MB is comparable with."""
    call(run, "aten::mm", (rows, width), (width, 256), us=us)


def thin(run: Program) -> None:
    """A product with one row is far from the rate of a thick one, and takes less time."""
    call(run, "aten::mm", (1, 1024), (1024, 1024), us=300)
    call(run, "aten::mm", (512, 1024), (1024, 1024), us=3000)


def gradient(run: Program) -> None:
    """Forward and backward read the weights in either order; neither is a free choice."""
    call(run, "aten::mm", (8, 1024), (1024, 1024), us=400)
    call(run, "aten::mm", (8, 1024), (1024, 1024), us=2000, strides=[[1024, 1], [1, 1024]])


def small(run: Program) -> None:
    """Calls that wait for their start."""
    for _ in range(20):
        call(run, "aten::mm", (4, 4), (4, 4), us=40)
        call(run, "aten::mm", (8, 8), (8, 8), us=10)


def first_touch(run: Program) -> None:
    """16 MB that the system clears first, and 20 MB that come again."""
    call(run, "aten::add", (2048, 1024), (2048, 1024), us=9000)
    call(run, "aten::add", (2048, 1280), (2048, 1280), us=1500)


def gathers(run: Program) -> None:
    """The indices decide what a gather reads."""
    call(run, "aten::index_select", (100_000, 64), (5000,), us=40_000)
    call(run, "aten::index_select", (100_000, 64), (6000,), us=400)


def sorts(run: Program) -> None:
    """Values in order are sorted sooner."""
    call(run, "aten::sort", (4096, 128), us=90_000)
    call(run, "aten::sort", (4096, 256), us=900)


def jumps(run: Program) -> None:
    """A copy in order takes as long as the sum that reads in jumps."""
    call(run, "aten::sum", (2048, 512), us=9000, strides=[[1, 2048]])
    call(run, "aten::sum", (2048, 512), us=500)


def windows(run: Program) -> None:
    """A window of one may have another algorithm; so may one of three."""
    convolution(run, 32, 4000, window=1)
    convolution(run, 16, 1000, window=3)


def more_groups(run: Program) -> None:
    """32 groups are not 24 with zeros between them."""
    convolution(run, 32, 4000, channels=96)
    convolution(run, 24, 1000, channels=96)


def smaller(run: Program) -> None:
    """Half of the rows and columns take less time."""
    product(run, 256, 4000)
    call(run, "aten::mm", (256, 512), (512, 128), us=300)


def formula(run: Program) -> None:
    """Transcendental arithmetic is another operator than a sum."""
    call(run, "aten::gelu", (256, 1024), us=4000)
    call(run, "aten::neg", (256, 1024), us=100)


@pytest.mark.parametrize(
    "body",
    [
        thin,
        gradient,
        small,
        first_touch,
        gathers,
        sorts,
        jumps,
        windows,
        more_groups,
        smaller,
        formula,
    ],
)
def test_right_programs(body: Body) -> None:
    assert found(RULE, program(body).trace()) == []


def series(times_us: list[float], beside: bool = False) -> Program:
    """A step for each time of a product, with a larger product that takes 1 ms."""
    run = Program()
    for us in times_us:
        with run.step():
            call(run, "aten::relu", (256, 1024), us=200)
            start = run.now
            product(run, 250, us)
            if beside:
                run.events.append(make.op("aten::mm", start, run.now, thread=2))
            product(run, 256, 1000)
    return run


def test_a_series_that_shows_it() -> None:
    (row,) = found(RULE, series([4000] * 8).trace())
    assert row.saving_share == pytest.approx(3 / 5.2, rel=0.02)


@pytest.mark.parametrize(
    "times_us",
    [
        [1000, 8000] * 4,  # a slice of the scheduler: the fast ones are as fast as any
        [4000, 7000, 10_000, 13_000] * 2,  # threads that wait for a core, some more than others
    ],
)
def test_interrupted_calls_are_no_rate(times_us: list[float]) -> None:
    assert found(RULE, series(times_us).trace()) == []


def test_calls_beside_another_thread_are_no_rate() -> None:
    assert found(RULE, series([4000] * 8, beside=True).trace()) == []


def test_calls_of_another_time_are_no_rate() -> None:
    """The machine may have been busy with others in the first steps."""
    run = Program()
    for at in range(8):
        with run.step():
            call(run, "aten::relu", (256, 1024), us=200)
            product(run, *((250, 4000) if at < 4 else (256, 1000)))
    assert found(RULE, run.trace()) == []


def test_a_product_in_jumps_beside_one_in_order() -> None:
    def body(run: Program) -> None:
        call(run, "aten::mm", (512, 512), (512, 512), us=1000)
        call(run, "aten::mm", (512, 512), (512, 512), us=8000, strides=[[512, 1], [2048, 2]])

    (row,) = found(RULE, program(body).trace())
    assert row.saving_low_ns == 0


def test_kernels_of_a_device_without_a_data_sheet() -> None:
    def body(us: float) -> Program:
        run = Program()
        for _ in range(STEPS):
            with run.step():
                for width, kernel in ((512, 1000), (500, us)):
                    args = recorded(matrix(512, width), matrix(width, 512))
                    args["Input Strides"] = [[width, 1], [512, 1]]
                    run.op("aten::mm", 5, kernel=kernel, **args)
                run.wait()
        return run

    (row,) = found(RULE, body(4000).trace())
    assert row.saving_share == pytest.approx(3 / 5, rel=0.05)
    assert found(RULE, body(1200).trace()) == []


def transform(run: Program, kind: str, padded: bool, us: float, length: int) -> None:
    """A Fourier transform of real numbers, or back to them, as torch's functions call it."""
    given = length - 211 if padded else length
    half = length // 2 + 1
    if kind == "irfft":
        outer, inner = full(48, half, dtype=COMPLEX), full(48, half, dtype=COMPLEX)
        values = ("[1]", "2", str(length))
    else:
        outer, inner = full(48, given, dtype=FP32), full(48, length, dtype=FP32)
        values = ("[1]", "0", "True")
    name = "aten::_fft_c2r" if kind == "irfft" else "aten::_fft_r2c"
    with run.around(f"aten::fft_{kind}", 1, **recorded(outer, str(length), "-1", "")):
        run.op(name, us, **recorded(inner, *values))


def by_transforms(
    length: int, *, signal: bool = True, filters: int = 1, inverse: bool = True, us: float = 500
) -> Program:
    """Steps that transform a signal and padded filters, multiply, and transform back."""

    def body(run: Program) -> None:
        transform(run, "rfft", signal, us, length)
        for _ in range(filters):
            transform(run, "rfft", True, us, length)
        if inverse:
            transform(run, "irfft", False, us, length)
        run.op("FftC2RBackward0", 3)

    return program(body)


def test_a_convolution_of_a_length_with_a_great_prime_factor() -> None:
    (row,) = found(RULE, by_transforms(6211).trace())
    assert row.saving_share == pytest.approx(0.7475 * 1500 / 1716, rel=0.02)
    assert row.confidence == "medium"
    assert row.saving_low_ns
    assert "6,211" in row.title
    assert "6,272" in row.fix


def test_the_gradients_of_such_a_convolution_go_as_well() -> None:
    def body(run: Program) -> None:
        for kind in ("rfft", "rfft", "irfft"):
            transform(run, kind, kind == "rfft", 200, 6211)
        with run.around("FftC2RBackward0"):
            run.op(
                "aten::_fft_r2c", 200, **recorded(full(48, 6211, dtype=FP32), "[1]", "2", "True")
            )

    (row,) = found(RULE, program(body).trace())
    assert row.events == 4 * STEPS


@pytest.mark.parametrize("length", [6250, 6144, 6240, 6237, 8 * 127])
def test_a_length_of_small_factors_is_no_slow_one(length: int) -> None:
    assert found(RULE, by_transforms(length).trace()) == []


def test_an_input_as_it_is_decides_the_length() -> None:
    """A circular convolution of this period, though its filter is padded."""
    assert found(RULE, by_transforms(6211, signal=False).trace()) == []


def test_short_transforms_are_not_worth_another_length() -> None:
    assert found(RULE, by_transforms(6211, us=40).trace()) == []


@pytest.mark.parametrize(("filters", "inverse"), [(0, True), (1, False)])
def test_the_frequencies_may_be_needed(filters: int, inverse: bool) -> None:
    """A filter that is given by frequencies, and a spectrum that is not transformed back."""
    (row,) = found(RULE, by_transforms(6211, filters=filters, inverse=inverse).trace())
    assert row.confidence == "low"
    assert row.saving_low_ns == 0
    assert "frequencies" in row.explanation


def test_a_device_is_promised_nothing() -> None:
    run = Program()
    for _ in range(STEPS):
        with run.step():
            for kind in ("rfft", "rfft"):
                transform(run, kind, padded=True, us=10, length=6211)
            with run.around(
                "aten::fft_rfft", **recorded(full(48, 6000, dtype=FP32), "6211", "-1", "")
            ):
                run.op("aten::_fft_r2c", 10, kernel=500,
                       **recorded(full(48, 6211, dtype=FP32), "[1]", "0", "True"))  # fmt: skip
            with run.around("aten::fft_irfft", **recorded(full(48, 3106, dtype=COMPLEX), "6211")):
                run.op("aten::_fft_c2r", 10, kernel=500,
                       **recorded(full(48, 3106, dtype=COMPLEX), "[1]", "2", "6211"))  # fmt: skip
            run.wait()
    (row,) = found(RULE, run.trace())
    assert row.confidence == "low"
    assert row.saving_low_ns == 0
