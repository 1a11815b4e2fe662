"""Work whose result is there already, and programs whose equal calls differ in their inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tb_privateuse1.advice.rules.repeated_work import RULE
from tests.support.autograd import Layer, TrainingProgram
from tests.support.program import found
from tests.support.sized import BF16, FP32, FP64, SizedProgram, full, recorded

ROWS, WIDTH, STEPS = 2048, 1024, 4
MASK = full(ROWS, ROWS, dtype=FP32)
INPUT = full(ROWS, WIDTH, dtype=FP32)


def program(step: Callable[[SizedProgram], None]) -> SizedProgram:
    run = SizedProgram()
    for _ in range(STEPS):
        with run.step():
            step(run)
            run.wait()
    return run


def layer(run: SizedProgram) -> None:
    run.run("aten::linear", INPUT, full(3 * WIDTH, WIDTH, dtype=FP32), full(3 * WIDTH, dtype=FP32))


def mask(run: SizedProgram, *, of: str = "1") -> None:
    """A causal mask, by numbers alone."""
    run.run("aten::full", f"[{ROWS}, {ROWS}]", of, "6", "", "", "False")
    run.run("aten::tril", MASK, "0")
    run.run("aten::mul", MASK, MASK)


def test_a_mask_that_each_layer_makes_again() -> None:
    def step(run: SizedProgram) -> None:
        for _ in range(3):
            mask(run)
            layer(run)

    def kept(run: SizedProgram) -> None:
        for _ in range(3):
            layer(run)

    before, after = program(step), program(kept)
    (row,) = found(RULE, before.trace())
    assert row.title.startswith("The same constants are computed again: ")
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.15)
    assert found(RULE, after.trace()) == []


def test_conversions_there_and_back() -> None:
    def step(run: SizedProgram) -> None:
        for _ in range(8):
            run.run("aten::to", INPUT, "7", "False", "False", "")
            run.run("aten::to", full(ROWS, WIDTH, dtype="double"), "6", "False", "False", "")
        layer(run)

    (row,) = found(RULE, program(step).trace())
    assert row.title.startswith("Tensors are converted to another type and directly back: ")


def test_weights_that_are_converted_in_each_step() -> None:
    def step(run: SizedProgram) -> None:
        for _ in range(8):
            run.run("aten::to", full(3 * WIDTH, WIDTH, dtype=BF16), "6", "False", "False", "")
            layer(run)

    (row,) = found(RULE, program(step).trace())
    assert row.title.startswith("Unchanged weights are prepared again: ")


LENGTHS, PLACES = full(8, dtype="long int"), full(ROWS, dtype="long int")


class Training(TrainingProgram):
    """Layers whose weight is converted before each call."""

    def forward(self, rows: int, *widths: int) -> list[Layer]:
        layers = []
        for inner, outer in itertools.pairwise(widths):
            self.sequence += 1
            given = recorded(full(outer, inner, dtype=FP32), "15", "False", "False", "")
            args = {"Sequence number": self.sequence}
            self.op("aten::to", 3, kernel=20, device="copy", **given, **args)
            self.sequence += 1
            given = recorded(full(rows, inner), full(outer, inner))
            args = {"Sequence number": self.sequence}
            self.op("aten::linear", 3, kernel=40, device="gemm", **given, **args)
            layers.append(Layer(rows, inner, outer, self.sequence))
        return layers


def shared_layer(run: TrainingProgram, *, calls: int = 4) -> None:
    """One layer that is called again and again, or as many layers: by the gradients."""
    layers = [one for _ in range(4) for one in run.forward(ROWS, 64, 3072)]
    run.backward(layers[:calls])
    run.optimize((64, 3072))
    run.reset()


def trained(parameters: int) -> Training:
    run = Training()
    for _ in range(STEPS):
        with run.step():
            shared_layer(run, calls=parameters)
            run.wait()
    return run


def test_a_shared_weight_that_each_call_converts() -> None:
    (row,) = found(RULE, trained(parameters=1).trace())
    assert row.title.startswith("Unchanged weights are prepared again: ")
    assert found(RULE, trained(parameters=4).trace()) == []


def masks_by_lengths(run: SizedProgram, *, between: str = "aten::relu") -> None:
    """Each layer makes the mask of the batch's lengths."""
    for _ in range(4):
        run.run("aten::unsqueeze", LENGTHS, "1")
        run.run("aten::lt", PLACES, full(8, 1, dtype="long int"))
        run.run("aten::unsqueeze", full(8, ROWS, dtype="bool"), "1")
        run.run("aten::expand", full(8, 1, ROWS, dtype="bool"), f"[8, {ROWS}, {ROWS}]", "False")
        run.run("aten::to", full(8, ROWS, ROWS, dtype="bool"), "6", "False", "False", "")
        run.run("aten::mul", full(8, ROWS, ROWS, dtype=FP32), full(8, ROWS, ROWS, dtype=FP32))
        layer(run)
        run.run(between, INPUT, "4", "-1", "True", "True")


def test_masks_of_a_batch_that_each_layer_makes() -> None:
    (row,) = found(RULE, program(masks_by_lengths).trace())
    assert row.title.startswith("The same constants are computed again: ")


def routed(run: SizedProgram) -> None:
    """Each layer chooses other experts: what is compared is made in between."""
    masks_by_lengths(run, between="aten::topk")


def other_numbers(run: SizedProgram) -> None:
    """Each step has another number."""
    mask(run, of=f"{run.steps}.5")
    layer(run)


def drawn(run: SizedProgram) -> None:
    run.run("aten::randn", f"[{ROWS}, {ROWS}]", "", "", "", "False")
    run.run("aten::tril", MASK, "0")
    layer(run)


def buffer(run: SizedProgram) -> None:
    """Zeros that the step writes results into."""
    run.run("aten::full", f"[{ROWS}, {ROWS}]", "0.", "6", "", "", "False")
    run.run("aten::tril", MASK, "0")
    run.run("aten::add_", MASK, full(ROWS, 1, dtype=FP32), "1")
    layer(run)


def times_a_number(run: SizedProgram) -> None:
    """The time of a step, times the numbers of a vector."""
    run.run("aten::arange", str(ROWS * ROWS), "6", "", "", "False")
    run.run("aten::mul", full(ROWS * ROWS, dtype=FP32), full(dtype="double"))
    run.run("aten::sin", full(ROWS * ROWS, dtype=FP32))
    layer(run)


def of_a_batch(run: SizedProgram) -> None:
    """A mask for the lengths of a batch."""
    run.run("aten::full", f"[{ROWS}, {ROWS}]", "1.", "6", "", "", "False")
    run.run("aten::mul", MASK, full(ROWS, 1, dtype=FP32))
    run.run("aten::tril", MASK, "0")
    layer(run)


def down_and_on(run: SizedProgram) -> None:
    """Mixed precision: what comes back is another tensor."""
    run.run("aten::to", INPUT, "15", "False", "False", "")
    run.run("aten::mul", full(ROWS, WIDTH, dtype=BF16), full(ROWS, WIDTH, dtype=BF16))
    run.run("aten::to", full(ROWS, WIDTH, dtype=BF16), "6", "False", "False", "")
    layer(run)


def inputs_converted(run: SizedProgram) -> None:
    """The batch has another type than the layer."""
    run.run("aten::to", full(ROWS, WIDTH, dtype=BF16), "6", "False", "False", "")
    layer(run)


def rows_of_a_recurrence(run: SizedProgram) -> None:
    """A table of zeros is filled row by row, each by the one before and one of a given table."""
    row, table = full(8 * ROWS, dtype=FP32), full(4, 8 * ROWS, dtype=FP32)
    run.run("aten::zeros", f"[4, {8 * ROWS}]", "6", "", "", "False")
    for time in range(4):
        run.run("aten::select", table, "0", str(time))
        run.run("aten::logsumexp", full(64, 8 * ROWS, dtype=FP32), "[0]", "False")
        run.run("aten::select", table, "0", str(time))
        run.run("aten::add", row, row, "1")
        run.run("aten::select", table, "0", str(time))
        run.run("aten::copy_", row, row, "False")


def results_of_a_weights_size(run: SizedProgram) -> None:
    """Two networks of equal rows: 2,048 results of 32 numbers are as many as 512 x 128 weights."""
    for _ in range(2):
        run.run("aten::linear", full(2048, 128, dtype=FP32), full(512, 128, dtype=FP32))
        run.run("aten::gelu", full(2048, 512, dtype=FP32), "none")
        run.run("aten::linear", full(2048, 512, dtype=FP32), full(32, 512, dtype=FP32))


@pytest.mark.parametrize(
    "step",
    [
        other_numbers, drawn, buffer, routed, times_a_number, of_a_batch, down_and_on,
        inputs_converted, results_of_a_weights_size, rows_of_a_recurrence,
    ],
)  # fmt: skip
def test_work_that_differs(step: Callable[[SizedProgram], None]) -> None:
    assert found(RULE, program(step).trace()) == []


def loops_for_a_graph(run: SizedProgram) -> None:
    """A graph that a loader gives, or a buffer, beside the one constant of its size."""
    run.run("aten::full", f"[{ROWS}, {ROWS}]", "1", "6", "", "", "False")
    run.run("aten::mul", MASK, MASK)
    run.run("aten::tril", MASK, "0")
    for _ in range(9):
        layer(run)


def test_a_tensor_of_a_constants_size_may_be_another_one_each_time() -> None:
    (row,) = found(RULE, program(loops_for_a_graph).trace())
    assert row.title.startswith("A constant is joined to a tensor again: ")
    assert (row.saving_low_ns, row.confidence) == (0, "low")


HALF = 512


def rotary_table(run: SizedProgram, *, divide: str = "aten::div", given: bool = False) -> None:
    """Angles of places, from numbers and the width of the model, which is not recorded."""
    rates, angles = full(HALF, dtype=FP32), (ROWS, HALF)
    run.run("aten::arange", "0", str(2 * HALF), "2", "4", "", "", "False")
    run.run("aten::to", full(HALF, dtype="long int"), "6", "False", "False", "")
    run.run(divide, rates, full(dtype="long int"), *(["1"] if divide == "aten::add" else []))
    run.run("aten::pow", "10000.", rates)
    run.run("aten::arange", str(ROWS), "6", "", "", "False")
    run.run("aten::outer", full(ROWS, dtype=FP32), rates)
    if given:
        run.run("aten::to", full(*angles, dtype=BF16), "6", "False", "False", "")
    run.run("aten::cat", [(angles, ""), (angles, "")], "-1")
    run.run("aten::cos", full(ROWS, 2 * HALF, dtype=FP32))


def layers_with(tables: int, **options: Any) -> Callable[[SizedProgram], None]:
    def step(run: SizedProgram) -> None:
        for number in range(6):
            if number < tables:
                rotary_table(run, **options)
            layer(run)

    return step


def test_tables_that_each_layer_makes_with_a_number_that_is_not_recorded() -> None:
    before, after = program(layers_with(6)), program(layers_with(1))
    (row,) = found(RULE, before.trace())
    assert row.title.startswith("The same tables are computed again in a step: ")
    assert row.saving_low_ns == 0
    assert row.saving_high_ns is not None
    assert row.saving_high_ns == pytest.approx(1000 * (before.now - after.now), rel=0.2)


@pytest.mark.parametrize(
    "step",
    [layers_with(1), layers_with(2), layers_with(6, divide="aten::add")],
    ids=["one of a step", "of two kinds", "of places that move on"],
)
def test_tables_that_may_differ(step: Callable[[SizedProgram], None]) -> None:
    """Of the third, the places before the number is added are constants."""
    rows = found(RULE, program(step).trace())
    assert not any("outer" in row.explanation or "cos" in row.explanation for row in rows)


def filters(run: SizedProgram, *, calls: int = 1, weight: bool = True, adds: bool = False) -> None:
    """Filters of numbers and a whole number that is not recorded, and the layer that takes them."""
    taps, bank = full(HALF, dtype=FP64), full(8 * HALF, HALF, dtype=FP64)
    kernel, sound = full(8 * HALF, 1, HALF, dtype=FP32), full(1, 1, 4 * HALF, dtype=FP32)
    for _ in range(calls):
        run.run("aten::arange", "0", str(HALF), "1", "7", "", "", "False")
        run.run("aten::arange", str(8 * HALF), "7", "", "", "False")
        run.run("aten::div", taps, full(dtype="long int"))
        if adds:
            run.run("aten::add", taps, full(HALF, dtype=FP64), "1")
        run.run("aten::unsqueeze", full(8 * HALF, dtype=FP64), "1")
        run.run("aten::mul", taps, full(8 * HALF, 1, dtype=FP64))
        run.run("aten::sinc", bank)
        run.run("aten::to", bank, "6", "False", "False", "")
        run.run("aten::unsqueeze", full(8 * HALF, HALF, dtype=FP32), "1")
    run.run("aten::pad", full(1, 1, 3 * HALF, dtype=FP32), f"[{HALF}, 0]", "constant", "")
    if weight:
        given = "", "[16]", "[0]", "[1]", "1"
        run.run("aten::conv1d", sound, kernel, *given)
    else:
        run.run("aten::mul", full(8 * HALF, HALF, dtype=FP32), full(HALF, dtype=FP32))
    layer(run)


def test_filters_that_each_step_makes_for_a_layer() -> None:
    before, after = program(filters), program(lambda run: filters(run, calls=run.steps == 1))
    (row,) = found(RULE, before.trace())
    assert row.title.startswith("Filters of a layer are computed again: ")
    assert row.saving_low_ns == 0
    assert row.confidence == "low"
    assert row.saving_high_ns is not None
    assert row.saving_high_ns == pytest.approx(1000 * (before.now - after.now), rel=0.2)


@pytest.mark.parametrize(
    "step",
    [
        lambda run: filters(run, calls=0),
        lambda run: filters(run, weight=False),
        lambda run: filters(run, adds=True),
    ],
    ids=["kept", "no weight", "given taps"],
)
def test_filters_that_are_kept_or_may_differ(step: Callable[[SizedProgram], None]) -> None:
    assert not any("sinc" in row.explanation for row in found(RULE, program(step).trace()))


def test_a_list_of_other_tensors_is_no_constant() -> None:
    """What is joined is the batch's, of another type: only its size is a table's."""
    (row,) = found(RULE, program(layers_with(6, given=True)).trace())
    assert "cos" not in row.explanation
    assert "outer" in row.explanation
