"""Programs whose step becomes slower by a planted share, with the same number of launches.

``build`` gives the step of a program at a slow-down of 0, 0.03 … Device programs change one
operator's or all kernels' durations, host programs the Python or operators of the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

Step = Callable[[], object]

_BLOCKS = 100


@dataclass(frozen=True)
class Program:
    """A program: how it is built, and on which device by which route."""

    name: str
    build: Callable[[float], Step]
    device: str = "cpu"
    is_measured: bool = True
    """Whether the device measures its kernels itself; otherwise device times are inferred."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """Of the reference device."""


def kernels_slower(slow: float) -> Step:
    """Train a perceptron on a slow device; each kernel takes longer."""
    import refdevice

    refdevice.configure(speed=1 / (1 + slow))
    from refdevice.workloads import clean

    return clean.build("refdev")


def operator_slower(slow: float) -> Step:
    """Train on a slow device; a single operator takes longer, about half of the step at first."""
    rows = 256
    weight = torch.randn(256, 256).to("refdev")
    layer = torch.nn.Linear(256, 256).to("refdev")
    fixed = torch.randn(rows, 256).to("refdev")
    # Equal products: what the layer's forward and backward pass take, the one operator takes, too.
    data = torch.randn(round(3 * rows * (1 + 2 * slow)), 256).to("refdev")

    def step() -> object:
        loss = layer(fixed).sum()
        loss.backward()
        return torch.mm(data, weight)

    return step


def host_slower(slow: float) -> Step:
    """Train on a quick device that waits for the host; the program's Python takes longer."""
    from refdevice.workloads import mlp

    return _with_python(mlp.build("refdev"), 60_000, 0.6, slow)


def operators_slower(slow: float) -> Step:
    """Run many small operators on the CPU, and more of them."""
    left, right = torch.randn(48, 96), torch.randn(96, 96)
    blocks = round(_BLOCKS * (1 + slow))

    def step() -> object:
        value = left
        for _ in range(blocks):
            value = torch.relu(torch.mm(value, right)) * 0.1
        return value

    return step


def python_slower(slow: float) -> Step:
    """Train a perceptron on the CPU between Python of its own, which takes longer."""
    model = torch.nn.Sequential(torch.nn.Linear(96, 96), torch.nn.ReLU(), torch.nn.Linear(96, 96))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(64, 96)

    def train() -> object:
        optimizer.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return _with_python(train, 20_000, 0.7, slow)


def _with_python(train: Step, rounds: int, share: float, slow: float) -> Step:
    """Return the step after Python that takes this share of the whole, as it is recorded."""
    more = round(rounds * (1 + slow / share))

    def step() -> object:
        _python(more)
        return train()

    return step


def _python(rounds: int) -> int:
    words: dict[int, int] = {}
    for i in range(rounds):
        words[i % 251] = words.get(i % 251, 0) + i
    return len(words)


SLOW_DEVICE = {"bandwidth_gb_per_s": 1, "throughput_gflop_per_s": 10}
QUICK_DEVICE = {"bandwidth_gb_per_s": 100, "throughput_gflop_per_s": 2000, "kernel_fixed_ns": 1000}

PROGRAMS = {
    program.name: program
    for program in (
        Program("kernels_slower", kernels_slower, "refdev", settings=SLOW_DEVICE),
        Program("operator_slower", operator_slower, "refdev", False, SLOW_DEVICE),
        Program("host_slower", host_slower, "refdev", settings=QUICK_DEVICE),
        Program("operators_slower", operators_slower),
        Program("python_slower", python_slower),
    )
}
