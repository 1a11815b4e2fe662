"""Statistics of training passes that look like metrics, but that something needs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.unread_results import RULE
from tests.support.autograd import ENGINE, TrainingProgram
from tests.support.program import found
from tests.support.sized import FP32, Input, full, recorded

ROWS, CLASSES = 4096, 512
SCORES = full(ROWS, CLASSES, dtype=FP32)
SAMPLES = full(ROWS, dtype=FP32)
NUMBER = full(dtype=FP32)


class Loss(TrainingProgram):
    """Makes scores by a layer, and a loss of operators that the backward pass goes through."""

    def train(self, loss: Callable[[Loss], None], behind: Callable[[Loss], None]) -> None:
        """Run a step; ``behind`` the loss statistics are computed."""
        layers = self.forward(ROWS, 256, CLASSES)
        self.nodes: list[tuple[int, str, tuple[Input, ...]]] = []
        loss(self)
        behind(self)
        for sequence, name, inputs in reversed(self.nodes):
            node = {"Sequence number": sequence, "Fwd thread id": 1}
            with self.around(f"{ENGINE}{name}Backward0", **node):
                self.run("aten::mul", *inputs)
        self.backward(layers)
        self.optimize((256, CLASSES))
        self.reset()

    def differentiable(self, name: str, *inputs: Input, read: tuple[Input, ...] = ()) -> None:
        """Run an operator that the backward pass goes through; its node reads other inputs."""
        self.sequence += 1
        self.nodes.append((self.sequence, name, read or inputs))
        self.op(name, 3, kernel=2, device=name, **recorded(*inputs),
                **{"Sequence number": self.sequence})  # fmt: skip


def squared(run: Loss) -> None:
    run.differentiable("aten::square", SCORES)
    run.differentiable("aten::mean", SCORES, "", read=(NUMBER,))


def chances(run: Loss) -> None:
    """Compute a metric of the scores."""
    run.run("aten::softmax", SCORES, "-1", "", slow=40)


def said(loss: Callable[[Loss], None], behind: Callable[[Loss], None]) -> bool:
    """Return whether the rule speaks of four equal steps."""
    run = Loss()
    for _ in range(4):
        with run.step():
            run.train(loss, behind)
            run.wait()
    return bool(found(RULE, run.trace()))


def test_chances_that_nobody_reads_are_a_metric() -> None:
    assert said(squared, chances)


def test_a_target_of_the_next_step() -> None:
    """The next pass reads more tensors of the size than it has made: one is of the pass before."""

    def compared(run: Loss) -> None:
        run.differentiable("aten::sub", SCORES, SCORES, "1")
        squared(run)

    assert not said(compared, chances)


@pytest.mark.parametrize("word", ["lerp_", "copy_", "add_"])
def test_an_average_in_place_of_as_many_numbers(word: str) -> None:
    """Written are the numbers of an earlier step, which have the size of those of this one."""

    def kept(run: Loss) -> None:
        chances(run)
        run.run(f"aten::{word}", SCORES, SCORES, "1")

    assert not said(squared, kept)


def test_a_number_that_the_next_loss_is_multiplied_with() -> None:
    """The loss has two numbers of its own, and reads a third one."""

    def weighted(run: Loss) -> None:
        squared(run)
        run.differentiable("aten::mean", SCORES, "", read=(NUMBER,))
        run.differentiable("aten::mul", NUMBER, NUMBER)
        run.differentiable("aten::sub", NUMBER, NUMBER, "1")

    def followed(run: Loss) -> None:
        chances(run)
        run.run("aten::mean", SCORES, "")
        run.run("aten::mul_", NUMBER, NUMBER)

    def joined(run: Loss) -> None:
        squared(run)
        run.differentiable("aten::mean", SCORES, "", read=(NUMBER,))
        run.differentiable("aten::sub", NUMBER, NUMBER, "1")

    assert not said(weighted, followed)
    assert said(joined, followed)


def test_a_number_of_unknown_origin() -> None:
    """What reads a result of unknown size may read that of the statistic."""

    def weighted(run: Loss) -> None:
        squared(run)
        run.differentiable("aten::mul", NUMBER, NUMBER)

    def followed(run: Loss) -> None:
        run.run("aten::kl_div", SCORES, SCORES, "2", "True", slow=40)
        run.run("aten::where", full(dtype="bool"), "1.5", "0.5")
        run.run("aten::mul_", NUMBER, NUMBER)

    assert not said(weighted, followed)


def test_weights_that_begin_the_backward_pass() -> None:
    """The first node multiplies with one number for each sample, which nothing else has made."""

    def each(run: Loss) -> None:
        run.differentiable("aten::sum", SCORES, "[1]", "False", "", read=(SAMPLES,))

    def weights(run: Loss) -> None:
        chances(run)
        run.run("aten::amax", SCORES, "[1]", "False")

    assert not said(each, weights)
    assert said(squared, weights)


def test_a_function_of_autograd_takes_statistics() -> None:
    """Its name tells nothing, but its inputs are recorded."""

    def own(run: Loss) -> None:
        chances(run)
        run.run("aten::mean", SCORES, "[0]", "False", "")
        run.differentiable("Balanced", SCORES, full(CLASSES, dtype=FP32), read=(NUMBER,))

    assert not said(lambda run: None, own)


def test_labels_of_the_next_step() -> None:
    """Answers that are compared with labels are none; those that are left may be."""
    labels, answers = full(ROWS, dtype="long int"), full(CLASSES, dtype="long int")

    def labelled(run: Loss) -> None:
        run.differentiable("aten::cross_entropy_loss", SCORES, labels, "", "1", read=(NUMBER,))

    def answered(run: Loss) -> None:
        run.run("aten::argmax", SCORES, "1", "False", slow=40)

    def compared(run: Loss) -> None:
        answered(run)
        run.run("aten::eq", labels, labels)

    def of_classes(run: Loss) -> None:
        run.run("aten::argmax", SCORES, "0", "False", slow=40)
        run.run("aten::eq", answers, answers)

    assert not said(labelled, answered)
    assert said(labelled, compared)
    assert said(labelled, of_classes)


@pytest.mark.parametrize(("device", "is_said"), [("Memcpy DtoH", False), ("cast", True)])
def test_results_in_another_type_on_the_host(device: str, is_said: bool) -> None:
    def moved(run: Loss) -> None:
        chances(run)
        told = recorded(SCORES, "7", "False", "False", "")
        with run.around("aten::to", **told):
            run.op("aten::_to_copy", 3, kernel=2, device=device, **told)

    assert said(squared, moved) is is_said


def test_backward_passes_without_their_forward_ones() -> None:
    """Numbers of nodes are those of operators before the recording."""
    run = Loss()
    run.sequence = 100
    for _ in range(4):
        with run.step():
            run.train(squared, chances)
            run.wait()
    for event in run.events:
        if event["name"].startswith(ENGINE) and "Sequence number" in event["args"]:
            event["args"]["Sequence number"] = 1
    assert found(RULE, run.trace()) == []
