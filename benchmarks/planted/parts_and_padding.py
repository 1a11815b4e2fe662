"""Results read in part, padding, and two other faults, planted when their rules were finished."""

from __future__ import annotations

import itertools
from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.planted.fault import planted


class Pooled(nn.Module):
    """A layer that attends to all tokens, of which its caller wants the first one."""

    def __init__(self, width: int, heads: int, first_alone: bool) -> None:
        super().__init__()
        self.query, self.mix = nn.Linear(width, width), nn.Linear(width, width)
        self.pair, self.norm = nn.Linear(width, 2 * width), nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads, self.first_alone = heads, first_alone

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the first token's state, with the shape batch, width."""
        asked = hidden[:, :1] if self.first_alone else hidden
        query, (key, value) = self.query(asked), self.pair(hidden).chunk(2, dim=-1)
        query, key, value = (self._split(one) for one in (query, key, value))
        found = functional.scaled_dot_product_attention(query, key, value)
        mixed = self.mix(found.transpose(1, 2).reshape(asked.shape))
        state = self.norm(asked + mixed)
        result: torch.Tensor = self.outer(functional.gelu(self.inner(state)))[:, 0]
        return result

    def _split(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def pooled_queries() -> Forms:
    """Let the last layer compute each token where the first one's state is wanted, or that one."""
    hidden = torch.rand(8, 192, 128)

    def form(first_alone: bool) -> Step:
        body = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))
        layer, head = Pooled(128, 4, first_alone), nn.Linear(128, 10)

        @torch.no_grad()
        def step() -> torch.Tensor:
            found: torch.Tensor = head(layer(body(hidden))).argmax(-1)
            return found

        return step

    return Forms(form(False), form(True))


def padded_speech() -> Forms:
    """Train on batches of mixed lengths, or on batches of similar ones."""
    lengths = [40 + 13 * (7 * i % 32) for i in range(32)]
    sounds = [torch.rand(length, 64) for length in lengths]

    def form(sorts: bool) -> Step:
        order = sorted(range(32), key=lengths.__getitem__) if sorts else list(range(32))
        layers = [
            part
            for inputs, outputs in itertools.pairwise((64, 96, 96, 64))
            for part in (nn.Conv1d(inputs, outputs, 5, padding=2), nn.LeakyReLU(0.2))
        ]
        model = nn.Sequential(*layers)
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            for first in range(0, 32, 8):
                chosen = [sounds[i] for i in order[first : first + 8]]
                batch = pad_sequence(chosen, batch_first=True)
                model(batch.transpose(1, 2)).square().mean().backward()
                sgd.step()
                sgd.zero_grad()

        return step

    return Forms(form(False), form(True))


def clipped_each_part() -> Forms:
    """Limit the norm of gradients behind each part of a batch, or once ahead of the optimizer."""
    parts = [torch.rand(8, 256) for _ in range(8)]

    def form(each: bool) -> Step:
        layers = (nn.Sequential(nn.Linear(256, 256), nn.SiLU()) for _ in range(10))
        model = nn.Sequential(*layers)
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            for part in parts:
                model(part).square().mean().backward()
                if each:
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if not each:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
            adam.zero_grad()

        return step

    return Forms(form(True), form(False))


def batch_by_permutation() -> Forms:
    """Choose a batch by the permutation of all samples, or by as many random numbers."""
    count, size = 400_000, 256
    samples = torch.rand(count, 32)

    def form(permutes: bool) -> Step:
        model = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            chosen = torch.randperm(count)[:size] if permutes else torch.randint(count, (size,))
            model(samples[chosen]).square().mean().backward()
            sgd.step()
            sgd.zero_grad()

        return step

    return Forms(form(True), form(False))


def _timed(pair: Pair) -> Pair:
    """Return the pair, timed by the process's own time."""
    return replace(pair, of_process=True)


PAIRS: Final = tuple(
    map(
        _timed,
        (
            planted("pooled_queries", "a layer of all tokens for the first one", pooled_queries,
                    "cpu"),
            planted("padded_speech", "batches of mixed lengths", padded_speech, "cpu"),
            planted("clipped_each_part", "gradients clipped behind each part of a batch",
                    clipped_each_part, "cpu"),
            planted("batch_by_permutation", "a batch chosen by a permutation of all samples",
                    batch_by_permutation, "cpu"),
        ),
    )
)  # fmt: skip
