"""Work beside the training, and a loop with a state, on a processor."""

from __future__ import annotations

import itertools
from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.planted.fault import planted
from benchmarks.planted.tuned_on_host import network


def gradient_histograms() -> Forms:
    """Count the values of each gradient in each step, or not; weights are averaged by lists."""
    inputs, targets = torch.rand(64, 256), torch.randint(10, (64,))

    def form(counts: bool) -> Step:
        model = network(256, 12)
        weights: list[torch.Tensor] = list(model.parameters())
        averages = [one.detach().clone() for one in weights]
        adam = torch.optim.AdamW(weights, lr=1e-3, fused=True)

        def histograms() -> list[list[float]]:
            gradients = [one.grad for one in weights if one.grad is not None]
            return [torch.histc(one, bins=64).tolist() for one in gradients]

        def step() -> None:
            functional.cross_entropy(model(inputs), targets).backward()
            if counts:
                histograms()
            adam.step()
            adam.zero_grad()
            with torch.no_grad():
                torch._foreach_lerp_(averages, weights, 0.01)

        return step

    return Forms(form(True), form(False))


def scored_each_second() -> Forms:
    """Score held-out data after each second step, or not in the steps that are recorded."""
    inputs, targets = torch.rand(64, 256), torch.randint(10, (64,))
    held, answers = torch.rand(256, 256), torch.randint(10, (256,))

    def form(scores: bool) -> Step:
        model, number = network(256, 12), itertools.count()
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def accuracy() -> float:
            with torch.inference_mode():
                return (model(held).argmax(dim=1) == answers).float().mean().item()

        def step() -> None:
            functional.cross_entropy(model(inputs), targets).backward()
            adam.step()
            adam.zero_grad()
            if scores and next(number) % 2:
                accuracy()

        return step

    return Forms(form(True), form(False))


class Cells(nn.Module):
    """Two layers of gated recurrent units, item by item."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.GRUCell(width, width), nn.GRUCell(width, width)

    def forward(self, items: torch.Tensor) -> torch.Tensor:
        """Return the states of the second layer."""
        low = high = items.new_zeros(items.shape[0], items.shape[2])
        found = []
        for i in range(items.shape[1]):
            low = self.first(items[:, i], low)
            high = self.second(low, high)
            found.append(high)
        return torch.stack(found, dim=1)


def cells_of_two_layers() -> Forms:
    """Run two recurrent cells in a Python loop, or as one recurrent network."""
    width, items = 96, torch.rand(8, 64, 96)

    def form(loops: bool) -> Step:
        model = Cells(width) if loops else nn.GRU(width, width, 2, batch_first=True)
        head = nn.Linear(width, 1)

        @torch.no_grad()
        def step() -> torch.Tensor:
            states = model(items) if loops else model(items)[0]
            scores: torch.Tensor = head(states)
            return scores

        return step

    return Forms(form(True), form(False))


def _timed(pair: Pair) -> Pair:
    """Return the pair, timed by the process's own time."""
    return replace(pair, of_process=True)


PAIRS: Final = tuple(
    map(
        _timed,
        (
            planted("gradient_histograms", "histograms of gradients in each step",
                    gradient_histograms, "cpu"),
            planted("scored_each_second", "held-out data scored after each second step",
                    scored_each_second, "cpu"),
            planted("cells_of_two_layers", "recurrent cells in a loop", cells_of_two_layers, "cpu"),
        ),
    )
)  # fmt: skip
