"""Work beside the training on the reference device."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, planted
from benchmarks.planted.tuned_on_device import DEVICE, dense_network

BATCH, WIDTH, CLASSES = 128, 384, 64


def _data() -> tuple[torch.Tensor, torch.Tensor]:
    """Return a batch and its classes on the device."""
    return torch.rand(BATCH, WIDTH).to(DEVICE), torch.randint(CLASSES, (BATCH,)).to(DEVICE)


def _classifier() -> tuple[nn.Module, torch.optim.Optimizer]:
    model = dense_network(WIDTH, 512, 512, 512, CLASSES)
    return model, torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)


def norms_one_by_one() -> Forms:
    """Log the norm of each weight and gradient alone, or all of them by lists, read once."""
    inputs, classes = _data()

    def form(alone: bool) -> Step:
        model, sgd = _classifier()
        weights = list(model.parameters())

        def log_norms() -> list[float]:
            tensors = [*weights, *(one.grad for one in weights if one.grad is not None)]
            with torch.no_grad():
                if alone:
                    return [one.norm().item() for one in tensors]
                return torch.stack(torch._foreach_norm(tensors)).tolist()

        def step() -> None:
            functional.cross_entropy(model(inputs), classes).backward()
            sgd.step()
            log_norms()
            sgd.zero_grad()

        return step

    return Forms(form(True), form(False))


def copied_judge() -> Forms:
    """Copy the model after each step and score held-out data with the copy, or do neither."""
    inputs, classes = _data()

    def form(judges: bool) -> Step:
        model, sgd = _classifier()

        def judge() -> torch.Tensor:
            other = copy.deepcopy(model).eval()
            with torch.no_grad():
                return functional.cross_entropy(other(inputs), classes)

        def step() -> None:
            functional.cross_entropy(model(inputs), classes).backward()
            sgd.step()
            sgd.zero_grad()
            if judges:
                judge()

        return step

    return Forms(form(True), form(False))


def confusion_in_python() -> Forms:
    """Count mistaken classes in Python in each step, or on the device."""
    inputs, classes = _data()

    def form(counts: bool) -> Step:
        model, sgd = _classifier()
        totals: Counter[tuple[int, int]] = Counter()
        table = torch.zeros(CLASSES * CLASSES, device=DEVICE)

        def confuse(scores: torch.Tensor) -> None:
            if counts:
                for row in range(BATCH):
                    found = max(range(CLASSES), key=scores[row].tolist().__getitem__)
                    totals[int(classes[row]), found] += 1
            else:
                places = classes * CLASSES + scores.argmax(dim=1)
                table.scatter_add_(0, places, torch.ones_like(places, dtype=torch.float32))

        def step() -> None:
            scores = model(inputs)
            functional.cross_entropy(scores, classes).backward()
            sgd.step()
            sgd.zero_grad()
            with torch.no_grad():
                confuse(scores)

        return step

    return Forms(form(True), form(False))


PAIRS: Final = (
    planted("norms_one_by_one", "norms of weights logged one by one", norms_one_by_one,
            DEVICE, FASTER),
    planted("copied_judge", "a copy of the model scored after each step", copied_judge,
            DEVICE, FASTER),
    planted("confusion_in_python", "mistakes counted in Python", confusion_in_python,
            DEVICE, FASTER),
)  # fmt: skip
