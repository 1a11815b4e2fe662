"""Faults that only the rate of equal work in the same program shows, on a processor."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from torch import nn

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted

DEVICE: Final = "cpu"


@torch.library.custom_op("roofs::standardize", mutates_args=())
def standardize(values: torch.Tensor) -> torch.Tensor:
    """Return values less the mean of each row, by its deviation; rows in jumps one by one."""
    given = values.numpy()
    if values.is_contiguous():
        deviation = given.std(1, keepdims=True)
        return torch.from_numpy((given - given.mean(1, keepdims=True)) / deviation)
    result = np.empty(given.shape, given.dtype)
    for row, own in enumerate(given):
        result[row] = (own - own.mean()) / own.std()
    return torch.from_numpy(result)


@torch.library.custom_op("roofs::smooth", mutates_args=())
def smooth(values: torch.Tensor, by_columns: bool) -> torch.Tensor:
    """Return the running mean of four neighbors of each row, column by column or at once."""
    given = values.numpy()
    width = given.shape[1] - 3
    if not by_columns:
        parts = [given[:, at : at + width] for at in range(4)]
        return torch.from_numpy((parts[0] + parts[1] + parts[2] + parts[3]) / 4)
    result = np.empty((given.shape[0], width), given.dtype)
    for at in range(width):
        result[:, at] = given[:, at : at + 4].mean(1)
    return torch.from_numpy(result)


def groups_of_two() -> Forms:
    """Convolve in groups of two channels, or of four as another stage does."""

    def form(groups: int) -> Step:
        def stage(own: int) -> nn.Module:
            layers = (nn.Conv2d(64, 64, 3, padding=1, groups=own, bias=False) for _ in range(2))
            return nn.Sequential(*(part for one in layers for part in (one, nn.ReLU())))

        model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), stage(16), stage(groups))
        pictures = torch.rand(4, 3, 56, 56)

        @torch.no_grad()
        def step() -> torch.Tensor:
            features: torch.Tensor = model(pictures)
            return features.mean()

        return step

    return Forms(form(32), form(16))


def operator_in_jumps() -> Forms:
    """Hand transposed values to an operator of one's own, or values as they lie."""
    first, weight = torch.rand(512, 512), torch.rand(512, 512)

    def form(transposed: bool) -> Step:
        second = torch.rand(512, 512)
        given = second.t() if transposed else second.t().contiguous()

        @torch.no_grad()
        def step() -> torch.Tensor:
            return (standardize(first) @ weight + standardize(given)).sum()

        return step

    return Forms(form(True), form(False))


def operator_by_columns() -> Forms:
    """Compute an operator of one's own column by column, or at once."""
    signals, weight = torch.rand(1024, 259), torch.rand(256, 64)

    def form(by_columns: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            return (smooth(signals, by_columns) @ weight).relu().sum()

        return step

    return Forms(form(True), form(False))


def product_in_jumps() -> Forms:
    """Multiply by every second row and column of weights, or by a copy of them."""
    rows, whole = torch.rand(64, 1024), torch.rand(2048, 2048)
    other = torch.rand(1024, 1024)

    def form(copied: bool) -> Step:
        weight = whole[::2, ::2].contiguous() if copied else whole[::2, ::2]

        @torch.no_grad()
        def step() -> torch.Tensor:
            return ((rows @ other).relu() @ weight).sum()

        return step

    return Forms(form(False), form(True))


PAIRS = (
    planted("groups_of_two", "convolutions in smaller groups than others", groups_of_two, DEVICE),
    planted("operator_in_jumps", "an own operator of transposed values", operator_in_jumps, DEVICE),
    planted("operator_by_columns", "an own operator by columns", operator_by_columns, DEVICE),
    planted("product_in_jumps", "a product with weights in jumps", product_in_jumps, DEVICE),
)
