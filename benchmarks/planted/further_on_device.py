"""Faults of other kinds on the reference device."""

from __future__ import annotations

from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, planted
from benchmarks.planted.tuned_on_device import DEVICE, dense_network

BATCH, WIDTH, CLASSES = 512, 512, 64


def inputs_with_gradients() -> Forms:
    """Train with the gradient of the inputs, which nobody reads, or without it."""
    classes = torch.randint(CLASSES, (BATCH,)).to(DEVICE)

    def form(asks: bool) -> Step:
        inputs = torch.rand(BATCH, 2048).to(DEVICE).requires_grad_(asks)
        model = dense_network(2048, 512, CLASSES)
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            functional.cross_entropy(model(inputs), classes).backward()
            sgd.step()
            sgd.zero_grad()
            inputs.grad = None

        return step

    return Forms(form(True), form(False))


def cloned_between_layers() -> Forms:
    """Copy the activations ahead of each layer, or give them on as they are."""
    inputs = torch.rand(BATCH, WIDTH).to(DEVICE)

    def form(copies: bool) -> Step:
        layers = list(dense_network(*[WIDTH] * 7))

        @torch.no_grad()
        def step() -> torch.Tensor:
            found = inputs
            for layer in layers:
                found = layer(found.clone() if copies else found)
            return found

        return step

    return Forms(form(True), form(False))


PAIRS: Final = (
    planted("inputs_with_gradients", "gradients of the inputs that nobody reads",
            inputs_with_gradients, settings=FASTER),
    planted("cloned_between_layers", "activations copied ahead of each layer",
            cloned_between_layers, settings=FASTER),
)  # fmt: skip
