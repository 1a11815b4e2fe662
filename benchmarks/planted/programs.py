"""Tuned programs: the device is always behind the host, and nothing is known to waste time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.pairs.pair import Step

WIDTH = 384
TOKENS = 96
WORDS = 512


class Block(nn.Module):
    """A residual block of two products, as in a transformer."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state with what the block adds."""
        return hidden + self.outer(self.activate(self.inner(self.normalize(hidden))))

    def normalize(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state, normalized."""
        normal: torch.Tensor = self.norm(hidden)
        return normal

    def activate(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the activation."""
        return nn.functional.gelu(hidden)


class Network(nn.Module):
    """Words to classes, by blocks."""

    def __init__(self, block: Callable[[], nn.Module] = Block, blocks: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.Sequential(*(block() for _ in range(blocks)))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return a score for each class."""
        scores: torch.Tensor = self.head(self.blocks(self.words(words)))
        return scores


def words_and_targets(device: str, tokens: int = TOKENS) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a batch on the device."""
    return (
        torch.randint(WORDS, (tokens,)).to(device),
        torch.randint(WORDS, (tokens,)).to(device),
    )


Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def training(
    model: nn.Module,
    device: str,
    *,
    loss: Loss = nn.functional.cross_entropy,
    batch: Callable[[], tuple[Any, torch.Tensor]] | None = None,
    after_backward: Callable[[torch.Tensor], object] | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    to_none: bool = True,
    tokens: int = TOKENS,
) -> Step:
    """Return a training step; the arguments are where faults are planted."""
    model.to(device)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    fixed = words_and_targets(device, tokens)

    def step() -> None:
        inputs, targets = batch() if batch else fixed
        optimizer.zero_grad(set_to_none=to_none)
        value = loss(model(inputs), targets)
        value.backward()
        if after_backward:
            after_backward(value)
        optimizer.step()

    return step


def inference(model: nn.Module, device: str, tokens: int = TOKENS) -> Step:
    """Return a step that only computes scores."""
    model.to(device).eval()
    inputs, _ = words_and_targets(device, tokens)

    @torch.no_grad()
    def step() -> torch.Tensor:
        scores: torch.Tensor = model(inputs)
        return scores

    return step
