"""Faults on a processor, written when rounds without steps and unwritten copies were found."""

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


def probed_each_third() -> Forms:
    """Compare features of held-out data with each other after each third step, or not."""
    inputs, targets = torch.rand(64, 256), torch.randint(10, (64,))
    held = torch.rand(384, 256)

    def form(probes: bool) -> Step:
        model, number = network(256, 12), itertools.count()
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        @torch.no_grad()
        def probe() -> float:
            features = functional.normalize(model[:-1](held), dim=1)
            return (features @ features.T).topk(5, dim=1).values.mean().item()

        def step() -> None:
            functional.cross_entropy(model(inputs), targets).backward()
            adam.step()
            adam.zero_grad()
            if probes and next(number) % 3 == 2:
                probe()

        return step

    return Forms(form(True), form(False))


def forward_for_metrics() -> Forms:
    """Run the model a second time for the accuracy, or take the scores of the loss."""
    inputs, targets = torch.rand(256, 256), torch.randint(10, (256,))

    def form(again: bool) -> Step:
        model = network(256, 10)
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> float:
            scores = model(inputs)
            functional.cross_entropy(scores, targets).backward()
            adam.step()
            adam.zero_grad()
            with torch.no_grad():
                answers = model(inputs) if again else scores
                return (answers.argmax(dim=1) == targets).float().mean().item()

        return step

    return Forms(form(True), form(False))


def softmax_before_argmax() -> Forms:
    """Choose words by their probabilities, or by their scores, whose order is the same."""
    layers, head = network(256, 4)[:-1], nn.Linear(256, 32_000)
    inputs = torch.rand(48, 256)

    def form(normalizes: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            scores = head(layers(inputs))
            if normalizes:
                scores = torch.softmax(scores, dim=-1)
            return scores.argmax(dim=-1)

        return step

    return Forms(form(True), form(False))


def _timed(pair: Pair) -> Pair:
    """Return the pair, timed by the process's own time."""
    return replace(pair, of_process=True)


PAIRS: Final = tuple(
    map(
        _timed,
        (
            planted("probed_each_third", "features compared after each third step",
                    probed_each_third, "cpu"),
            planted("forward_for_metrics", "a second pass of the model for a metric",
                    forward_for_metrics, "cpu"),
            planted("softmax_before_argmax", "probabilities, whose order alone counts",
                    softmax_before_argmax, "cpu"),
        ),
    )
)  # fmt: skip
