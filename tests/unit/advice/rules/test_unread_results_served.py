"""Inference in training mode, and programs whose dropout is meant."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tb_privateuse1.advice.rules.unread_results import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import FP32, full, recorded, unshaped

ROWS, WIDTH = 1024, 1024
STATES = full(ROWS, WIDTH, dtype=FP32)


def dropout(
    run: TrainingProgram, *, train: bool = True, graph: bool = True, module: str = ""
) -> None:
    """Draw and apply a mask, as torch does without a kernel of its own."""
    run.sequence += graph
    given = recorded(STATES, "0.1", str(train))
    if graph:
        given["Sequence number"] = run.sequence
    with ExitStack() as around:
        if module:
            around.enter_context(run.frame(f"nn.Module: {module}"))
            run.rest(1)
        around.enter_context(run.around("aten::dropout", **given))
        if train:
            run.op("aten::bernoulli_", 5, kernel=150, **recorded(STATES, "0.9", ""))
            run.op("aten::mul", 5, kernel=50, **recorded(STATES, STATES))


def layer(run: TrainingProgram, width: int = WIDTH) -> None:
    run.sequence += 1
    given = recorded(STATES, full(width, WIDTH, dtype=FP32))
    given["Sequence number"] = run.sequence
    run.op("aten::linear", 3, kernel=200, **given)


def model(run: TrainingProgram, *, train: bool = True, graph: bool = True) -> None:
    """Four layers with dropout, and a head."""
    for _ in range(4):
        layer(run)
        dropout(run, train=train, graph=graph)
    layer(run, 8)


def in_modules(run: TrainingProgram, *, passes: int = 1, graph: bool = True) -> None:
    for _ in range(passes):
        with run.frame("nn.Module: Ranker_0"):
            for number in range(3):
                layer(run)
                dropout(run, graph=graph, module=f"Dropout_{number}")
            layer(run, 8)


@pytest.mark.parametrize("step", [model, in_modules])
def test_inference_of_a_model_that_is_left_in_training_mode(
    step: Callable[[TrainingProgram], None],
) -> None:
    (row,) = found(RULE, steps(step).trace())
    assert row.title.startswith("Inference draws dropout as in training: ")
    assert "Autograd recorded" in row.explanation
    assert row.confidence == "medium"
    assert row.saving_ns is not None
    without = steps(lambda run: model(run, train=False))
    assert found(RULE, without.trace()) == []
    if step is model:
        gain = 1000 * (steps(step).now - without.now)
        assert row.saving_ns == pytest.approx(gain, rel=0.1)


def test_without_autograds_record_the_range_begins_at_nothing() -> None:
    (row,) = found(RULE, steps(lambda run: in_modules(run, graph=False)).trace())
    assert (row.confidence, row.saving_low_ns) == ("low", 0)


def several_passes(run: TrainingProgram) -> None:
    """The same model is asked three times: how sure is it?"""
    in_modules(run, passes=3)


def passes_without_modules(run: TrainingProgram) -> None:
    """One body, whose result the head reads three times behind another dropout."""
    layer(run, 16)
    for _ in range(3):
        dropout(run)
        layer(run, 8)


def repeated_rows(run: TrainingProgram) -> None:
    """The inputs are there eight times."""
    run.run("aten::repeat", full(ROWS // 8, WIDTH, dtype=FP32), "[8, 1]")
    model(run)


def expanded_rows(run: TrainingProgram) -> None:
    few = full(ROWS // 8, WIDTH, dtype=FP32)
    run.run("aten::expand", few, f"[8, {ROWS // 8}, {WIDTH}]", "False")
    model(run)


def spread(run: TrainingProgram) -> None:
    model(run)
    run.run("aten::std", full(8, ROWS // 8, 8, dtype=FP32), "[0]", "1", "False")


def averaged(run: TrainingProgram) -> None:
    """One draw in each step, which a mean of all draws takes up."""
    model(run)
    answers = full(ROWS, 8, dtype=FP32)
    run.op("aten::add_", 3, kernel=5, **recorded(answers, answers, "0.25"))


def residual(run: TrainingProgram) -> None:
    """What the model adds up itself comes ahead of its head."""
    for _ in range(4):
        layer(run)
        dropout(run)
        run.op("aten::add_", 3, kernel=5, **recorded(STATES, STATES, "1"))
    layer(run, 8)


def some_off(run: TrainingProgram) -> None:
    """A generator's own dropout stays on, and all others are off."""
    dropout(run, train=False)
    model(run)


def without_graph(run: TrainingProgram) -> None:
    """A function that always draws, without gradients and without a module."""
    layer(run)
    dropout(run, graph=False)
    layer(run, 8)


def gradients_of_inputs(run: TrainingProgram) -> None:
    layers = run.forward(ROWS, WIDTH, 512)
    model(run)
    run.backward(layers)


def tangents(run: TrainingProgram) -> None:
    """Forward-mode gradients."""
    run.run("aten::_make_dual", STATES, STATES, "0")
    model(run)


@pytest.mark.parametrize(
    "step",
    [
        several_passes, passes_without_modules, repeated_rows, expanded_rows, spread, averaged,
        some_off, without_graph, gradients_of_inputs, tangents,
    ],
)  # fmt: skip
def test_dropout_that_is_meant(step: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, steps(step).trace()) == []


def positions(run: TrainingProgram) -> None:
    """Places are there for each text: these are no inputs that are asked several times."""
    run.run("aten::arange", "64", "", "", "", "False")
    run.run("aten::repeat", full(64, dtype="long int"), "[16, 1]")
    model(run)


@pytest.mark.parametrize("step", [positions, residual])
def test_neither_places_nor_residuals_ask_a_model_again(
    step: Callable[[TrainingProgram], None],
) -> None:
    assert len(found(RULE, steps(step).trace())) == 1


def test_a_recording_of_one_pass_may_be_cut_before_its_backward_pass() -> None:
    assert found(RULE, steps(model, count=1).trace()) == []


def test_a_recording_without_dropout() -> None:
    assert found(RULE, steps(layer).trace()) == []


def test_without_shapes_a_model_in_training_mode_is_known_by_its_modules() -> None:
    (row,) = found(RULE, unshaped(steps(in_modules)))
    assert row.title.startswith("Inference draws dropout as in training: ")
    assert found(RULE, unshaped(steps(lambda run: in_modules(run, passes=3)))) == []


def rows_of_modules(run: TrainingProgram) -> None:
    """Whether these are places or inputs is not recorded."""
    run.run("aten::repeat", full(ROWS // 8, WIDTH, dtype=FP32), "[8, 1]")
    in_modules(run)


def averaged_modules(run: TrainingProgram) -> None:
    in_modules(run)
    answers = full(ROWS, 8, dtype=FP32)
    run.op("aten::add_", 3, kernel=5, **recorded(answers, answers, "0.25"))


def spread_of_modules(run: TrainingProgram) -> None:
    in_modules(run)
    run.run("aten::std", full(8, ROWS // 8, 8, dtype=FP32), "[0]", "1", "False")


@pytest.mark.parametrize(
    "step",
    [
        rows_of_modules, averaged_modules, spread_of_modules, several_passes,
        passes_without_modules, repeated_rows, averaged, spread, some_off, tangents,
    ],
)  # fmt: skip
def test_without_shapes_dropout_may_be_meant(step: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, unshaped(steps(step))) == []
