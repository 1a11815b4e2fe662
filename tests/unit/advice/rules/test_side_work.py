"""Work beside the training: passes, averages, checkpoints, metrics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.advice.rules.side_work import RULE
from tb_privateuse1.trace.model import NONE
from tests.support.autograd import HostTraining, TrainingProgram
from tests.support.program import found
from tests.support.sized import FP32, full, recorded, unshaped

WIDTHS = (64,) * 11
WEIGHT = full(64, 64, dtype=FP32)
MODEL = "Net_0"


Work = Callable[[TrainingProgram], None]


def nothing(_: TrainingProgram) -> None:
    """Nothing beside the training."""


def train(
    behind: Work = nothing, between: Work = nothing, ahead: Work = nothing, *, device: bool = False
) -> TrainingProgram:
    """Four steps with work ahead of the forward pass, before and behind the optimizer's step."""
    run = TrainingProgram() if device else HostTraining()
    for _ in range(4):
        with run.step(), run.frame("train.py(3): step"):
            run.rest(1)
            ahead(run)
            with run.frame(f"nn.Module: {MODEL}"):
                layers = run.forward(256, *WIDTHS)
            run.backward(layers)
            between(run)
            run.optimize(*[(64, 64)] * 10)
            behind(run)
            run.rest(1)
            if device:
                run.wait()
    return run


def validate(run: TrainingProgram) -> None:
    """Apply the model without a sequence number, and read a result."""
    with run.frame("train.py(30): validate"):
        run.rest(1)
        for _ in range(10):
            run.matrix(256, 64, 64)
        run.op("aten::item", 2, **recorded(full(1, dtype=FP32)))
        run.rest(1)


def average(run: TrainingProgram) -> None:
    """Average each weight alone."""
    for _ in range(10):
        run.run("aten::mul_", WEIGHT, "0.99", host=20)
        run.run("aten::add_", WEIGHT, WEIGHT, "0.01", host=20)


def save(run: TrainingProgram) -> None:
    """Write the weights to a file."""
    with run.frame("train.py(40): save"):
        run.rest(1)
        run.op("aten::detach", 2, **recorded(WEIGHT))
        with run.frame("<built-in method write of _io.BufferedWriter object at 0x1>"):
            run.rest(300)
        run.rest(1)


def gained(before: TrainingProgram) -> float:
    """Return the share of the time that goes without the work."""
    return 1 - train().now / before.now


@pytest.mark.parametrize("device", [False, True])
def test_a_pass_without_a_backward_pass_is_validation(device: bool) -> None:
    before, after = train(validate, device=device), train(device=device)
    (row,) = found(RULE, before.trace())
    assert "without gradients" in row.title
    assert str(row.where) == "validate (train.py:30)"
    assert row.saving_share == pytest.approx(1 - after.now / before.now, rel=0.15)


def test_a_wait_for_a_device_that_is_not_recorded_is_no_side_work() -> None:
    """A host has its own numbers at once: the read waits for what the training launched."""

    def waiting(run: TrainingProgram) -> None:
        with run.frame("train.py(30): validate"):
            for _ in range(10):
                run.matrix(256, 64, 64)
            run.op("aten::item", 20_000, **recorded(full(1, dtype=FP32)))

    assert found(RULE, train(waiting).trace()) == []


@pytest.mark.parametrize(("model", "findings"), [(MODEL, 1), ("Teacher_0", 0)])
def test_without_shapes_a_pass_is_known_by_its_module(model: str, findings: int) -> None:
    """A module through which no backward pass goes may be another one than is trained."""

    def passes(run: TrainingProgram) -> None:
        with run.frame("train.py(30): validate"), run.frame(f"nn.Module: {model}"):
            for _ in range(10):
                run.matrix(256, 64, 64)

    trace = train(passes).trace()
    unknown = np.full(len(trace.ops), NONE, np.int32)
    rows = found(RULE, replace(trace, ops=replace(trace.ops, shapes=unknown, dtypes=unknown)))
    assert len(rows) == findings
    assert all("without gradients" in row.title for row in rows)


def test_averages_of_weights_are_found_with_one_call_for_all() -> None:
    before = train(average)
    (row,) = found(RULE, before.trace())
    assert "averaged" in row.title
    assert row.code is not None
    assert "_foreach_lerp_" in row.code.after
    assert row.saving_share == pytest.approx(gained(before), rel=0.15)


def test_updates_by_hand_are_no_averages() -> None:
    run = HostTraining()
    for _ in range(4):
        with run.step():
            layers = run.forward(256, *WIDTHS)
            run.backward(layers)
            for _ in range(10):
                run.run("aten::add_", WEIGHT, WEIGHT, "-0.1", host=20)
    assert found(RULE, run.trace()) == []


def test_a_checkpoint_before_the_optimizer_is_found() -> None:
    before = train(between=save)
    (row,) = found(RULE, before.trace())
    assert "writes its state" in row.title
    assert row.saving_share == pytest.approx(gained(before), rel=0.15)


def test_averages_by_one_call_are_right() -> None:
    def by_lists(run: TrainingProgram) -> None:
        run.op("aten::_foreach_lerp_", 200, **recorded([WEIGHT], [WEIGHT], "0.01"))

    assert found(RULE, train(by_lists).trace()) == []


def test_gradients_that_are_clipped_by_hand_are_part_of_the_training() -> None:
    def clip(run: TrainingProgram) -> None:
        with run.frame("train.py(50): clip"):
            run.rest(1)
            for _ in range(10):
                run.run("aten::norm", WEIGHT, host=20)
            for _ in range(10):
                run.run("aten::mul_", WEIGHT, "0.5", host=20)
            run.rest(1)

    assert found(RULE, train(between=clip).trace()) == []


def test_what_precedes_the_forward_pass_may_be_its_input() -> None:
    """A teacher's scores, for one."""
    assert found(RULE, train(ahead=validate).trace()) == []


def test_python_code_of_the_loop_itself_is_found() -> None:
    def log(run: TrainingProgram) -> None:
        with run.frame("train.py(60): log"):
            run.rest(400)

    before = train(log)
    (row,) = found(RULE, before.trace())
    assert str(row.where) == "log (train.py:60)"
    assert row.saving_share == pytest.approx(gained(before), rel=0.15)


def test_without_python_frames_a_loop_of_reads_is_found() -> None:
    def count(run: TrainingProgram) -> None:
        for _ in range(64):
            run.op("aten::item", 10, **recorded(full(1, dtype=FP32)))

    run = train(count)
    run.events = [event for event in run.events if event.get("cat") != "python_function"]
    (row,) = found(RULE, run.trace())
    assert "read one by one" in row.title


@pytest.mark.parametrize(("copies", "findings"), [(10, 1), (9, 0)])
def test_without_shapes_as_many_copies_as_gradients_may_be_parameters(
    copies: int, findings: int
) -> None:
    """Fewer may be of results."""

    def log(run: TrainingProgram) -> None:
        for _ in range(copies):
            run.run("aten::_to_copy", WEIGHT, host=20)

    rows = found(RULE, unshaped(train(log)))
    assert len(rows) == findings
    assert all((row.confidence, row.saving_low_ns) == ("low", 0) for row in rows)
    assert all(row.title.startswith("Parameters are copied") for row in rows)
