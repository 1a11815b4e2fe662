"""Sizes of parameters and optimizer state by shapes."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.memory import parameter_sizes
from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.trace.model import Trace
from tests.support.make import Event, annotation, op, trace

DIMS, TYPES = "Input Dims", "Input type"


def accumulate(start: float, dims: object, kind: str, add: bool = False) -> list[Event]:
    name = "torch::autograd::AccumulateGrad"
    inner = [op("aten::add_", start + 1, start + 2)] if add else []
    return [
        op(f"{training_phases.ENGINE}: {name}", start, start + 9),
        op(name, start, start + 8, **{DIMS: [dims], TYPES: [kind]}),
        *inner,
    ]


def test_the_largest_backward_pass_has_all_parameters() -> None:
    """The largest backward pass has all gradients."""
    t = trace(
        *accumulate(0, [10, 3], "float"), *accumulate(10, [5], "c10::Half", add=True),
        annotation("Optimizer.step#SGD.step", 30, 40),
        *accumulate(50, [10, 3], "float", add=True),
    )  # fmt: skip
    assert parameter_sizes.gradient_bytes(t, training_phases.find_passes(t), 1) == (130, 10)
    assert parameter_sizes.gradient_bytes(t, training_phases.find_passes(t), 512) == (1024, 512)


@pytest.mark.parametrize(
    ("dims", "kind"),
    [([3], "Strange"), ("x", "float"), (None, "float"), ([2**40, 2**40], "float"), ([-3], "float")],
)
def test_an_unknown_size_counts_zero(dims: object, kind: str) -> None:
    """An unknown size counts 0."""
    t = trace(*accumulate(0, dims, kind))
    assert parameter_sizes.gradient_bytes(t, training_phases.find_passes(t), 1) == (0, 0)


def test_optimizer_state_as_in_torch() -> None:
    """Optimizers have the state tensors of torch.optim."""

    def states(name: str, *events: Event) -> int:
        return parameter_sizes.optimizer_states(
            trace(annotation(f"Optimizer.step#{name}.step", 0, 90), *events)
        )

    assert states("AdamW") == 2
    assert states("SGD") == 0
    assert states("SGD", op("aten::_foreach_mul_", 1, 2)) == 1
    assert states("Mine") == 0
    assert states("Adam", annotation("Optimizer.step#SGD.step", 100, 110)) == 0
    assert parameter_sizes.optimizer_states(Trace()) == 0
