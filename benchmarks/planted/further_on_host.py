"""Faults of other kinds on a processor, written when single calls and places were judged."""

from __future__ import annotations

from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import training
from benchmarks.planted.tuned_on_host import DEVICE


def _layers(width: int, count: int) -> nn.Module:
    layers = (nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(count))
    return nn.Sequential(*layers)


def _batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rand(64, 256), torch.rand(64, 256)


def diagonal_of_product() -> Forms:
    """Score pairs by the diagonal of all products, or by the products of the pairs alone."""
    model = _layers(256, 2)
    texts, pictures = torch.rand(512, 256), torch.rand(512, 256)

    def form(multiplies_all: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            left, right = model(texts), model(pictures)
            if multiplies_all:
                return torch.diagonal(left @ right.T)
            return (left * right).sum(dim=1)

        return step

    return Forms(form(True), form(False))


def inverse_then_product() -> Forms:
    """Invert a matrix for one product, or solve the system."""
    matrix = torch.rand(384, 384) + 384 * torch.eye(384)
    model, inputs = _layers(384, 2), torch.rand(64, 384)

    def form(inverts: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            found = model(inputs).T
            if inverts:
                return torch.linalg.inv(matrix) @ found
            return torch.linalg.solve(matrix, found)

        return step

    return Forms(form(True), form(False))


def backup_in_each_step() -> Forms:
    """Keep a copy of all weights after each step, or none."""
    batch = _batch()

    def form(copies: bool) -> Step:
        model = _layers(256, 12)
        train = training(model, DEVICE, loss=functional.mse_loss, batch=lambda: batch)
        kept: dict[str, torch.Tensor] = {}

        def step() -> None:
            train()
            if copies:
                kept.update({name: one.clone() for name, one in model.state_dict().items()})

        return step

    return Forms(form(True), form(False))


class Windowed(nn.Module):
    """Attention within windows of a sequence: masked out of all, or of each window alone."""

    def __init__(self, masks: bool, width: int = 64, window: int = 32) -> None:
        super().__init__()
        self.qkv, self.window, self.masks = nn.Linear(width, 3 * width), window, masks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result, with the shape of x: batch, length, width."""
        batch, length, width = x.shape
        if not self.masks:
            x = x.reshape(batch * length // self.window, self.window, width)
        query, key, value = self.qkv(x).unsqueeze(1).chunk(3, dim=-1)
        mask = None
        if self.masks:
            place = torch.arange(length) // self.window
            mask = place[:, None] == place[None, :]
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return found.reshape(batch, length, width)


def windows_by_mask() -> Forms:
    """Attend to windows by a mask over the whole sequence, or to each window alone."""
    inputs = torch.rand(4, 768, 64)

    def form(masks: bool) -> Step:
        model = nn.Sequential(*(Windowed(masks) for _ in range(3)))

        @torch.no_grad()
        def step() -> torch.Tensor:
            found: torch.Tensor = model(inputs)
            return found

        return step

    return Forms(form(True), form(False))


def _timed(pair: Pair) -> Pair:
    """Return the pair, timed by the process's own time."""
    return replace(pair, of_process=True)


PAIRS: Final = tuple(
    map(
        _timed,
        (
            planted("diagonal_of_product", "pairs scored by all products", diagonal_of_product,
                    "cpu"),
            planted("inverse_then_product", "a matrix inverted for one product",
                    inverse_then_product, "cpu"),
            planted("backup_in_each_step", "weights copied after each step", backup_in_each_step,
                    "cpu"),
            planted("windows_by_mask", "windows of attention by a mask", windows_by_mask, "cpu"),
        ),
    )
)  # fmt: skip
