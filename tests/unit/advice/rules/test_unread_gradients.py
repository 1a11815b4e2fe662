"""Gradients that nobody reads, and programs that need all of theirs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.unread_gradients import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import FP32, full, recorded, unshaped

ROWS = 4096
BACKBONE, HEAD = (1024, 2048, 3072, 4096), (4096, 512)
BODY_SHAPES = [(1024, 2048), (2048, 3072), (3072, 4096)]
HEAD_SHAPE = (4096, 512)


def fine_tuning(run: TrainingProgram, *, trained: bool = False, fused: bool = True) -> None:
    """A head on a backbone, whose gradients pile up if it is not trained."""
    run.reset()
    layers = [*run.forward(ROWS, *BACKBONE), *run.forward(ROWS, *HEAD)]
    run.backward(layers[-1:])
    run.backward(layers[:-1], fresh=trained)
    run.optimize(HEAD_SHAPE, *(BODY_SHAPES if trained else ()), fused=fused)


def frozen(run: TrainingProgram) -> None:
    """The same without gradients of the backbone; its last input's is a product less, too."""
    run.reset()
    run.forward(ROWS, *BACKBONE)
    run.backward(run.forward(ROWS, *HEAD))
    run.optimize(HEAD_SHAPE)


@pytest.mark.parametrize("fused", [True, False])
def test_gradients_of_a_backbone_that_is_not_trained(fused: bool) -> None:
    before, after = steps(lambda run: fine_tuning(run, fused=fused)), steps(frozen)
    (row,) = found(RULE, before.trace())
    assert row.title.startswith("Gradients that no optimizer reads: 3 a step, ")
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.1)


def test_a_network_that_is_trained_needs_them_all() -> None:
    assert found(RULE, steps(lambda run: fine_tuning(run, trained=True)).trace()) == []
    assert found(RULE, steps(frozen).trace()) == []


def adversaries(run: TrainingProgram, *, detaches: bool) -> None:
    """A judge's step, and its gradients into the network that it judges; then that one's step."""
    maker, fake = run.forward(ROWS, 1024, 2048, 3072), run.forward(ROWS, 3072, 512)
    run.reset()
    run.backward(fake, fresh=True)
    if not detaches:
        run.backward(maker, fresh=False)
    run.optimize((3072, 512))
    run.reset()
    layers = [*run.forward(ROWS, 1024, 2048, 3072), *run.forward(ROWS, 3072, 512)]
    run.backward(layers[-1:], fresh=False)
    run.backward(layers[:-1], fresh=True)
    run.optimize((1024, 2048), (2048, 3072))


def test_gradients_that_a_judge_sends_into_the_other_network() -> None:
    before = steps(lambda run: adversaries(run, detaches=False))
    after = steps(lambda run: adversaries(run, detaches=True))
    (row,), (rest,) = found(RULE, before.trace()), found(RULE, after.trace())
    assert row.saving_ns is not None
    assert rest.saving_ns is not None
    gained = 1000 * (before.now - after.now)
    assert row.saving_ns - rest.saving_ns == pytest.approx(gained, rel=0.3)


def test_the_rest_is_the_judges_own_weights_in_the_other_step() -> None:
    """Its gradient of the input is needed there; that of the weight is reset unread."""
    (rest,) = found(RULE, steps(lambda run: adversaries(run, detaches=True)).trace())
    assert rest.title.startswith("Gradients that no optimizer reads: 1 a step, ")
    assert rest.saving_ns == pytest.approx(4 * 1000 * (ROWS * 3072 * 512 // 10**8), rel=0.3)


def alike(run: TrainingProgram, *, through: bool = True, adds: bool = True) -> None:
    """A judge with a layer of the shape of one of the other network, which is stepped apart."""
    maker, judge = run.forward(ROWS, 1024, 2048, 2048), run.forward(ROWS, 2048, 2048, 512)
    run.reset()
    run.backward(judge, fresh=True)
    if through:
        run.backward(maker, fresh=not adds)
    run.optimize((2048, 2048), (2048, 512))
    run.reset()
    run.backward(run.forward(ROWS, 1024, 2048, 2048), fresh=True)
    run.optimize((1024, 2048), (2048, 2048))


def test_a_gradient_that_is_reset_as_those_of_the_step_is_the_optimizers() -> None:
    """The other one of its shape is added to: with it goes all of the other network's pass."""
    before, after = steps(alike), steps(lambda run: alike(run, through=False))
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.1)
    assert found(RULE, after.trace()) == []


def test_without_a_difference_the_last_gradient_of_a_shape_is_the_optimizers() -> None:
    (least,) = found(RULE, steps(lambda run: alike(run, adds=False)).trace())
    (row,) = found(RULE, steps(alike).trace())
    assert least.saving_ns is not None
    assert row.saving_ns is not None
    assert least.saving_ns < 0.8 * row.saving_ns


def accumulated(run: TrainingProgram) -> None:
    """Four parts of a batch: only the last one is followed by a step."""
    run.reset()
    for part in range(4):
        run.backward(run.forward(ROWS, *BACKBONE), fresh=part == 0)
    run.optimize(*BODY_SHAPES)


def two_losses(run: TrainingProgram) -> None:
    """Actor and critic, each with an optimizer of its own, and one backward pass."""
    run.reset()
    run.backward([*run.forward(ROWS, 1024, 2048), *run.forward(ROWS, 2048, 3072)])
    run.optimize((1024, 2048))
    run.optimize((2048, 3072))


def adversarial_input(run: TrainingProgram) -> None:
    """The gradient of the input is read by the sign that disturbs it."""
    for _ in range(2):
        run.reset()
        layers = run.forward(ROWS, *BACKBONE)
        run.backward(layers)
        run.accumulate(ROWS, 1024)
        run.run("aten::sign", full(ROWS, 1024, dtype=FP32))
    run.optimize(*BODY_SHAPES)


def by_hand(run: TrainingProgram) -> None:
    """One network has an optimizer, the other one is updated in a line of Python."""
    run.backward([*run.forward(ROWS, 1024, 2048), *run.forward(ROWS, 2048, 3072)])
    run.run("aten::add_", full(1024, 2048, dtype=FP32), full(1024, 2048, dtype=FP32), "-0.1")
    run.optimize((2048, 3072))


def sharded(run: TrainingProgram) -> None:
    """The optimizer steps with a shard of one flat parameter."""
    run.backward(run.forward(ROWS, *BACKBONE))
    run.optimize((4096,))


def without_optimizer(run: TrainingProgram) -> None:
    run.backward(run.forward(ROWS, *BACKBONE))


def alternating(run: TrainingProgram) -> None:
    """Actors are stepped with in every second update only, without a reset in between."""
    run.backward(run.forward(ROWS, *BACKBONE), fresh=run.steps % 2 == 1)
    if run.steps % 2 == 0:
        run.optimize(*BODY_SHAPES)


@pytest.mark.parametrize(
    "step",
    [accumulated, two_losses, by_hand, sharded, without_optimizer, alternating],
)
def test_gradients_that_somebody_reads(step: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, steps(step).trace()) == []


def test_the_gradient_of_an_input_is_read_by_hand() -> None:
    """Those of the weights are reset unread in the first pass, and it alone is needed."""
    for row in found(RULE, steps(adversarial_input).trace()):
        assert row.saving_share is not None
        assert row.saving_share < 0.25


def as_wide_as_the_batch(run: TrainingProgram, *, reads: bool = False) -> None:
    """The batch has as many rows as its layers have columns: each step draws one of that shape."""
    with run.around("aten::randn", **recorded("[2048, 2048]", "", "", "", "False")):
        run.run("aten::normal_", full(2048, 2048, dtype=FP32), "0.", "1.")
    run.run("aten::mul", full(2048, 2048, dtype=FP32), "2.")
    if reads:
        run.run("aten::add_", *[full(2048, 2048, dtype=FP32)] * 4, "1")
    run.backward([*run.forward(2048, 2048, 2048), *run.forward(2048, 2048, 512)])
    run.optimize((2048, 512))
    run.reset()


def test_a_batch_of_the_shape_of_a_gradient_is_none() -> None:
    (row,) = found(RULE, steps(as_wide_as_the_batch).trace())
    assert row.title.startswith("Gradients that no optimizer reads: 1 a step, ")


def test_one_more_tensor_of_the_shape_than_was_made_may_be_the_gradient() -> None:
    assert found(RULE, steps(lambda run: as_wide_as_the_batch(run, reads=True)).trace()) == []


@pytest.mark.parametrize("fused", [True, False])
def test_without_shapes_gradients_pile_up_that_no_step_resets(fused: bool) -> None:
    before, after = steps(lambda run: fine_tuning(run, fused=fused)), steps(frozen)
    gained = 1000 * (before.now - after.now)
    (row,) = found(RULE, unshaped(before))
    assert row.title.startswith("Gradients that no optimizer reads: 3 a step, ")
    assert (row.confidence, row.saving_low_ns) == ("low", 0)
    assert row.saving_high_ns == pytest.approx(gained, rel=0.1)
    assert "input shapes (record_shapes=True)" in row.lacks


def test_without_shapes_a_judges_gradients_of_the_other_step() -> None:
    (row,) = found(RULE, unshaped(steps(lambda run: adversaries(run, detaches=False))))
    assert (row.confidence, row.saving_low_ns) == ("low", 0)
    assert found(RULE, unshaped(steps(lambda run: adversaries(run, detaches=True)))) == []


def heads_in_turn(run: TrainingProgram) -> None:
    """Two losses with a pass each on one body, and one step for both."""
    run.reset()
    run.backward([*run.forward(ROWS, *BACKBONE), *run.forward(ROWS, *HEAD)])
    layers = [*run.forward(ROWS, *BACKBONE), *run.forward(ROWS, 4096, 256)]
    run.backward(layers[-1:])
    run.backward(layers[:-1], fresh=False)
    run.optimize(*BODY_SHAPES, HEAD_SHAPE, (4096, 256))


def stepped_more_rarely(run: TrainingProgram) -> None:
    """The body's own optimizer adds two batches up."""
    layers = [*run.forward(ROWS, *BACKBONE), *run.forward(ROWS, *HEAD)]
    run.backward(layers[-1:])
    run.backward(layers[:-1], fresh=run.steps % 2 == 1)
    run.optimize(HEAD_SHAPE)
    if run.steps % 2 == 0:
        run.optimize(*BODY_SHAPES)


def zeroed(run: TrainingProgram) -> None:
    """Another optimizer sets its gradients to zero, so that they are added to."""
    for shape in BODY_SHAPES:
        run.run("aten::zero_", full(*shape, dtype=FP32))
    fine_tuning(run)


def clipped(run: TrainingProgram) -> None:
    """The norm of all gradients scales those that are stepped with."""
    layers = [*run.forward(ROWS, *BACKBONE), *run.forward(ROWS, *HEAD)]
    run.backward(layers[-1:])
    run.backward(layers[:-1], fresh=False)
    run.run("aten::_foreach_norm", [full(*shape, dtype=FP32) for shape in BODY_SHAPES], "2")
    run.optimize(HEAD_SHAPE)


def logged(run: TrainingProgram) -> None:
    """A norm of each gradient is read."""
    layers = [*run.forward(ROWS, *BACKBONE), *run.forward(ROWS, *HEAD)]
    run.backward(layers[-1:])
    run.backward(layers[:-1], fresh=False)
    logged_norms(run)
    run.optimize(HEAD_SHAPE)


@pytest.mark.parametrize(
    "step",
    [
        accumulated, two_losses, adversarial_input, by_hand, sharded, without_optimizer,
        alternating, heads_in_turn, stepped_more_rarely, zeroed, clipped, logged,
    ],
)  # fmt: skip
def test_without_shapes_gradients_that_somebody_may_read(
    step: Callable[[TrainingProgram], None],
) -> None:
    assert found(RULE, unshaped(steps(step))) == []


def counted(
    run: TrainingProgram, steps_of: int, *, children: bool = True, reads: bool = False
) -> None:
    """A head on a body, all of whose gradients are forgotten; torch counts the steps in a list."""
    run.reset()
    layers = [*run.forward(ROWS, *BACKBONE), *run.forward(ROWS, *HEAD)]
    run.backward(layers)
    if reads:
        logged_norms(run)
    with run.range("Optimizer.step#AdamW.step"):
        run.rest(1)
        with run.around("aten::_foreach_add_"):
            run.rest(1)
            for _ in range(steps_of if children else 0):
                run.op("aten::add_", 2)
        run.op("aten::_fused_adamw_", 5, kernel=5)


def logged_norms(run: TrainingProgram) -> None:
    for shape in BODY_SHAPES:
        run.run("aten::linalg_vector_norm", full(*shape, dtype=FP32), "2", "", "False", "")


def test_without_shapes_more_gradients_than_the_optimizer_counts_steps_of() -> None:
    (row,) = found(RULE, unshaped(steps(lambda run: counted(run, 1))))
    assert row.title.startswith("Gradients that no optimizer reads: 3 a step, ")
    assert (row.confidence, row.saving_low_ns) == ("low", 0)


def in_turn(run: TrainingProgram) -> None:
    """All of the body is stepped with in every second step."""
    counted(run, 1 if run.steps % 2 else 4)


@pytest.mark.parametrize(
    "step",
    [
        lambda run: counted(run, 4),
        lambda run: counted(run, 1, children=False),
        lambda run: counted(run, 1, reads=True),
        in_turn,
    ],
    ids=["all", "counts on the device", "read by a log", "stepped more rarely"],
)
def test_without_shapes_gradients_that_may_be_stepped_with(
    step: Callable[[TrainingProgram], None],
) -> None:
    assert found(RULE, unshaped(steps(step))) == []
