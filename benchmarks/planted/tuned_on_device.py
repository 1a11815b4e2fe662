"""Tuned programs of the reference device: what an expert writes for an accelerator."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Pair, Step
from benchmarks.planted.fault import tuned
from benchmarks.planted.programs import training

DEVICE: Final = "refdev"


def fused_attention(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, causal: bool
) -> torch.Tensor:
    """Return attention by one kernel of the device, forward and backward."""
    hidden, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, keys, values, 0.0, causal
    )
    return hidden


class Attention(nn.Module):
    """A layer of a transformer: one product for query, keys and values, attention, two products."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.parts, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden states of all tokens."""
        count, tokens, width = hidden.shape
        parts = self.parts(self.before(hidden)).view(count, tokens, 3, self.heads, -1)
        query, keys, values = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = self.attend(query, keys, values).transpose(1, 2)
        hidden = hidden + self.mix(mixed.reshape(count, tokens, width))
        return hidden + self.outer(functional.gelu(self.inner(self.between(hidden))))

    def attend(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Return attention to all earlier tokens."""
        return fused_attention(query, keys, values, causal=True)


class Language(nn.Module):
    """Scores each word for what comes next."""

    def __init__(self, words: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.Sequential(*(Attention(width, heads) for _ in range(layers)))
        self.scores = nn.Linear(width, words)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the scores behind each word, flat over sequences and tokens."""
        scores: torch.Tensor = self.scores(self.layers(self.words(words)))
        return scores.flatten(0, 1)


def transformer() -> Step:
    """Return training of a transformer: fused attention, fused optimizer, data on the device."""
    words = 1024
    text = torch.randint(words, (4, 65)).to(DEVICE)
    inputs, targets = text[:, :-1].contiguous(), text[:, 1:].flatten()
    model = Language(words, 256, 4, 2).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    return training(model, DEVICE, batch=lambda: (inputs, targets), optimizer=adam)


class DecodingLayer(Attention):
    """The same layer for one more token, with a cache that is allocated once."""

    def __init__(self, width: int, heads: int, sequences: int, tokens: int) -> None:
        super().__init__(width, heads)
        shape = (2, sequences, heads, tokens, width // heads)
        self.cache = torch.zeros(shape, device=DEVICE, dtype=torch.bfloat16)

    def decode(self, hidden: torch.Tensor, place: int) -> torch.Tensor:
        """Return the hidden state of the token at ``place``."""
        parts = self.parts(self.before(hidden)).view(len(hidden), 3, self.heads, -1)
        self.cache[:, :, :, place] = parts[:, 1:].transpose(0, 1)
        keys, values = self.cache[:, :, :, : place + 1].unbind(0)
        mixed = fused_attention(parts[:, 0].unsqueeze(2), keys, values, causal=False)
        hidden = hidden + self.mix(mixed.flatten(1))
        return hidden + self.outer(functional.gelu(self.inner(self.between(hidden))))


def decoding() -> Step:
    """Return decoding of 32 sequences: a static cache, narrow weights, words on the device."""
    words, width, sequences, tokens = 2048, 256, 32, 4
    narrow = torch.bfloat16
    embedding = nn.Embedding(words, width).to(DEVICE, narrow)
    layers = [DecodingLayer(width, 4, sequences, tokens).to(DEVICE, narrow) for _ in range(2)]
    scores = nn.Linear(width, words).to(DEVICE, narrow)
    first = torch.ones(sequences, dtype=torch.int64, device=DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        chosen, said = first, []
        for place in range(tokens):
            hidden = embedding(chosen)
            for layer in layers:
                hidden = layer.decode(hidden, place)
            chosen = scores(hidden).argmax(dim=-1)
            said.append(chosen)
        return torch.stack(said)

    return step


def dense_network(*widths: int) -> nn.Sequential:
    """Return products with an activation between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1]).to(DEVICE)


def gan() -> Step:
    """Return training of two networks against each other, each with its fused optimizer."""
    batch, noise, size = 128, 64, 784
    maker, judge = dense_network(noise, 512, 512, size), dense_network(size, 512, 256, 1)
    optimizers = [
        torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
        for net in (maker, judge)
    ]
    real = torch.rand(batch, size).to(DEVICE)
    ones, zeros = torch.ones(batch, 1, device=DEVICE), torch.zeros(batch, 1, device=DEVICE)
    loss = functional.binary_cross_entropy_with_logits

    def step() -> None:
        fake = maker(torch.randn(batch, noise, device=DEVICE))
        optimizers[1].zero_grad()
        judged = loss(judge(real), ones) + loss(judge(fake.detach()), zeros)
        judged.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        judge.requires_grad_(False)
        loss(judge(fake), ones).backward()
        judge.requires_grad_(True)
        optimizers[0].step()

    return step


def detection() -> Step:
    """Return detection whose boxes are chosen on the device, all pairs in one operator."""
    pictures, places, width, kept = 4, 256, 256, 64
    backbone = dense_network(width, 512, 512, width)
    head = nn.Linear(width, 5).to(DEVICE)
    features = torch.rand(pictures, places, width).to(DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        found = head(backbone(features)).sigmoid()
        scores, rows = found[..., 4].topk(kept, dim=1)
        boxes = found[..., :4].gather(1, rows[..., None].expand(-1, -1, 4))
        distance = torch.cdist(boxes, boxes)
        near = (distance < 0.1).triu(diagonal=1).any(dim=1)
        return scores.masked_fill(near, 0.0)

    return step


def prefetched() -> Step:
    """Return training whose next batch is copied on a stream of its own meanwhile."""
    batch, width, classes = 256, 512, 32
    shards = [(torch.rand(batch, width), torch.randint(classes, (batch,))) for _ in range(4)]
    copies = torch.refdev.Stream()
    model = dense_network(width, 512, 512, 512, classes)
    number = 0

    def fetch() -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal number
        number += 1
        with torch.refdev.stream(copies):
            inputs, targets = (
                each.to(DEVICE, non_blocking=True) for each in shards[number % len(shards)]
            )
        return inputs, targets

    following = fetch()

    def batch_on_device() -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal following
        current = torch.refdev.current_stream()
        current.wait_stream(copies)
        inputs, targets = following
        for each in (inputs, targets):
            each.record_stream(current)
        following = fetch()
        return inputs, targets

    adam = torch.optim.AdamW(model.parameters(), fused=True)
    return training(model, DEVICE, batch=batch_on_device, optimizer=adam)


_PROGRAMS: tuple[tuple[Callable[[], Step], str], ...] = (
    (transformer, "training of a transformer with fused attention and optimizer"),
    (decoding, "decoding with a static cache"),
    (gan, "training of two networks against each other"),
    (detection, "detection with its post-processing on the device"),
    (prefetched, "training whose batches are copied ahead on a stream of their own"),
)

PAIRS: tuple[Pair, ...] = tuple(tuned(build, what, DEVICE) for build, what in _PROGRAMS)
