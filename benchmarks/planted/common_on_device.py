"""Faults on the reference device that guides and forums name most often, each with its right form.

Metrics in each pass, parts of a batch, one-hot rows, classes encoded again, two views, heads,
networks of an ensemble, and scores that the host orders.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, SHORT, planted
from benchmarks.planted.programs import WORDS, Network

DEVICE: Final = "refdev"


def perceptron(*sizes: int) -> nn.Sequential:
    """Return layers with ReLU between them, on the device."""
    layers: list[nn.Module] = []
    for inner, outer in itertools.pairwise(sizes):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).to(DEVICE)


def trained(model: nn.Module, loss_of: Callable[[], torch.Tensor]) -> Step:
    """Return a training step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return step


def samples(count: int, width: int, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and classes on the device."""
    return torch.randn(count, width).to(DEVICE), torch.randint(classes, (count,)).to(DEVICE)


def metrics_before_backward() -> Forms:
    """Rank the scores for metrics between the loss and its backward pass, or do not."""
    x, y = samples(384, 128, 1000)
    seen: list[torch.Tensor] = []

    def form(measured: bool) -> Step:
        model = perceptron(128, 256, 1000)

        def loss_of() -> torch.Tensor:
            scores = model(x)
            loss = functional.cross_entropy(scores, y)
            if measured:
                with torch.no_grad():
                    chances = scores.softmax(1)
                    rank = (chances > chances.gather(1, y.unsqueeze(1))).sum(1)
                    spread = -(chances * chances.log()).sum(1).mean()
                    seen[:] = [spread, *((rank < k).float().mean() for k in (1, 3, 5, 10))]
            return loss

        return trained(model, loss_of)

    return Forms(form(True), form(False))


def watched_activations() -> Forms:
    """Compute statistics of all activations in hooks, or have no hooks."""
    x, y = samples(192, 128, 200)
    seen: list[tuple[torch.Tensor, ...]] = []

    def watch(_module: nn.Module, _inputs: object, output: torch.Tensor) -> None:
        seen.append((output.mean(), output.std(), (output == 0).float().mean()))

    def form(watched: bool) -> Step:
        model = perceptron(128, 256, 256, 200)
        for layer in model if watched else ():
            layer.register_forward_hook(watch)

        def loss_of() -> torch.Tensor:
            seen.clear()
            return functional.cross_entropy(model(x), y)

        return trained(model, loss_of)

    return Forms(form(True), form(False))


def micro_batches() -> Forms:
    """Train with a batch in eight parts, or at once."""
    x, y = samples(64, 128, 10)

    def form(parts: int) -> Step:
        model = perceptron(128, 512, 512, 10)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            optimizer.zero_grad()
            for a, b in zip(x.chunk(parts), y.chunk(parts), strict=True):
                (functional.cross_entropy(model(a), b) / parts).backward()
            optimizer.step()

        return step

    return Forms(form(8), form(1))


def one_hot_loss() -> Forms:
    """Pick the scores of classes by one-hot rows, or by cross entropy."""
    x, y = samples(192, 128, 2000)

    def form(one_hot: bool) -> Step:
        model = perceptron(128, 256, 2000)

        def loss_of() -> torch.Tensor:
            scores = model(x)
            if not one_hot:
                return functional.cross_entropy(scores, y)
            wanted = functional.one_hot(y, 2000).float()
            return -(wanted * scores.log_softmax(1)).sum(1).mean()

        return trained(model, loss_of)

    return Forms(form(True), form(False))


def classes_for_each_batch() -> Forms:
    """Encode the names of classes for each batch of pictures, or once."""
    words = torch.randint(WORDS, (50 * 16,)).to(DEVICE)

    def form(again: bool) -> Step:
        text, picture = Network(blocks=2).to(DEVICE).eval(), perceptron(256, 512, 512).eval()

        def classes() -> torch.Tensor:
            return functional.normalize(text(words).unflatten(0, (50, 16)).mean(1), dim=1)

        with torch.no_grad():
            known = classes()

        @torch.no_grad()
        def step() -> torch.Tensor:
            seen = functional.normalize(picture(torch.randn(256, 256).to(DEVICE)), dim=1)
            return (seen @ (classes() if again else known).T).argmax(1).cpu()

        return step

    return Forms(form(True), form(False))


def views_in_two_passes() -> Forms:
    """Give two views of each picture to a model one after the other, or as one batch."""
    first, second = torch.randn(32, 128).to(DEVICE), torch.randn(32, 128).to(DEVICE)
    own = torch.arange(32).to(DEVICE)

    def form(apart: bool) -> Step:
        model = perceptron(128, 256, 256, 256, 256, 64)

        def loss_of() -> torch.Tensor:
            if apart:
                one, two = model(first), model(second)
            else:
                one, two = model(torch.cat([first, second])).chunk(2)
            one, two = functional.normalize(one, dim=1), functional.normalize(two, dim=1)
            return functional.cross_entropy(one @ two.T * 10, own)

        return trained(model, loss_of)

    return Forms(form(True), form(False))


def ensemble_one_by_one() -> Forms:
    """Ask six networks of an ensemble one after the other, or with products of all."""
    x = torch.randn(64, 128).to(DEVICE)

    def form(apart: bool) -> Step:
        models = [perceptron(128, 256, 256, 10).eval() for _ in range(6)]
        stacked = [
            torch.stack(same).detach()
            for same in zip(*(list(one.parameters()) for one in models), strict=True)
        ]

        @torch.no_grad()
        def step() -> torch.Tensor:
            if apart:
                return torch.stack([one(x) for one in models]).mean(0)
            y = x.expand(6, -1, -1)
            for i in range(0, 6, 2):
                y = torch.baddbmm(stacked[i + 1].unsqueeze(1), y, stacked[i].transpose(1, 2))
                y = y.relu() if i < 4 else y
            return y.mean(0)

        return step

    return Forms(form(True), form(False))


PAIRS: Final = (
    planted("metrics_before_backward", "metrics between a loss and its backward pass",
            metrics_before_backward, settings=FASTER),
    planted("watched_activations", "statistics of activations in hooks",
            watched_activations, settings=SHORT),
    planted("micro_batches", "a batch in parts that are too small", micro_batches, settings=SHORT),
    planted("one_hot_loss", "a loss by one-hot rows", one_hot_loss, settings=FASTER),
    planted("classes_for_each_batch", "names of classes encoded for each batch",
            classes_for_each_batch, settings=FASTER),
    planted("views_in_two_passes", "two views in two passes", views_in_two_passes, settings=FASTER),
    planted("ensemble_one_by_one", "networks of an ensemble one by one",
            ensemble_one_by_one, settings=SHORT),
)  # fmt: skip
