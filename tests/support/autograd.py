"""Training programs with autograd's events: layers, backward passes, gradients and optimizers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.sized import FP32, SizedProgram, full, recorded

ENGINE = "autograd::engine::evaluate_function: "


@dataclass(frozen=True)
class Layer:
    """A product with a weight that was run in a forward pass."""

    rows: int
    inner: int
    outer: int
    sequence: int


class TrainingProgram(SizedProgram):
    """Runs layers forward and backward; every operator has its sequence number."""

    sequence = 0

    def forward(self, rows: int, *widths: int) -> list[Layer]:
        """Run one layer from each width to the next one."""
        layers = []
        for inner, outer in itertools.pairwise(widths):
            self.sequence += 1
            layers.append(Layer(rows, inner, outer, self.sequence))
            self.matrix(rows, inner, outer, **{"Sequence number": self.sequence})
        return layers

    def matrix(self, m: int, k: int, n: int, **args: Any) -> None:
        """Run a product in float32."""
        given = recorded(full(m, k, dtype=FP32), full(k, n, dtype=FP32))
        self.op("aten::mm", 3, kernel=max(2, m * k * n // 10**8), device="gemm", **given, **args)

    def backward(
        self, layers: Sequence[Layer], *, fresh: bool = True, recorded_again: bool = False
    ) -> None:
        """Run the backward pass; with ``recorded_again`` autograd records it, too."""
        for layer in reversed(layers):
            node = {"Sequence number": layer.sequence, "Fwd thread id": 1}
            with self.around(f"{ENGINE}MmBackward0", **node), self.around("MmBackward0", **node):
                inner = {}
                if recorded_again:
                    self.sequence += 1
                    inner = {"Sequence number": self.sequence}
                self.matrix(layer.rows, layer.outer, layer.inner, **inner)
                self.matrix(layer.inner, layer.rows, layer.outer)
            self.accumulate(layer.inner, layer.outer, fresh=fresh)

    def accumulate(self, *shape: int, fresh: bool = True) -> None:
        """Add to the gradient of a parameter; there is none yet if it is fresh."""
        name = "torch::autograd::AccumulateGrad"
        gradient = full(*shape, dtype=FP32)
        with self.around(ENGINE + name), self.around(name, **recorded(gradient)):
            if not fresh:
                self.run("aten::add_", gradient, gradient, "1")

    def optimize(self, *shapes: tuple[int, ...], fused: bool = True) -> None:
        """Run a step of an optimizer with parameters of these shapes."""
        with self.range("Optimizer.step#SGD.step"):
            self.rest(1)  # equal ranges would be nested by their order in the file
            if fused:
                tensors = [full(*shape, dtype=FP32) for shape in shapes]
                self.op("aten::_fused_sgd_", 5, kernel=5, **recorded(tensors, tensors))
            else:
                for shape in shapes:
                    self.run("aten::add_", full(*shape, dtype=FP32), full(*shape, dtype=FP32), "1")

    def reset(self) -> None:
        """Forget the gradients."""
        with self.range("Optimizer.zero_grad#SGD.zero_grad"):
            self.rest(2)


class HostTraining(TrainingProgram):
    """Trains on a processor: the time of a kernel is that of its operator."""

    def op(
        self, name: str, host: float = 10, kernel: float = 0, device: str = "", **args: Any
    ) -> None:
        """Run an operator on the host."""
        super().op(name, host + kernel, **args)


def steps(step: Callable[[TrainingProgram], None], count: int = 4) -> TrainingProgram:
    """Return a program of equal steps that wait for the device at their end."""
    run = TrainingProgram()
    for _ in range(count):
        with run.step():
            step(run)
            run.wait()
    return run
