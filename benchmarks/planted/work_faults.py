"""Work that is larger than needed, planted when the rules for hosts and for float64 were finished.

Four programs run on the processor alone, two on the reference device.
"""

from __future__ import annotations

import math

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import training


def attention_on_host() -> Forms:
    """Encode long texts with attention by products and a softmax, or by one operator."""
    query, key, value = (torch.rand(4, 4, 512, 32) for _ in range(3))
    layer = nn.Linear(128, 128)

    def form(by_hand: bool) -> Step:
        @torch.no_grad()
        def step() -> None:
            if by_hand:
                scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
                found = torch.softmax(scores, dim=-1) @ value
            else:
                found = functional.scaled_dot_product_attention(query, key, value)
            layer(found.transpose(1, 2).reshape(4, 512, 128))

        return step

    return Forms(form(True), form(False))


def words_as_rows() -> Forms:
    """Look words up by a product with one-hot rows on the host, or in a table."""
    count, width = 4096, 96
    words, targets = torch.randint(count, (64,)), torch.rand(64, 1)
    table, head = nn.Parameter(torch.rand(count, width)), nn.Sequential(
        nn.Linear(width, 512), nn.ReLU(), nn.Linear(512, 1)
    )  # fmt: skip

    def form(one_hot: bool) -> Step:
        @torch.no_grad()
        def step() -> None:
            if one_hot:
                found = functional.one_hot(words, count).float() @ table
            else:
                found = functional.embedding(words, table)
            for _ in range(8):
                functional.mse_loss(head(found), targets)

        return step

    return Forms(form(True), form(False))


def history_by_cat() -> Forms:
    """Collect the states of a rollout by one cat for each, or write them into a buffer."""
    start = torch.rand(32, 128)

    def form(by_cat: bool) -> Step:
        buffer = torch.empty(96, 32, 128)

        @torch.no_grad()
        def step() -> None:
            state, history = start, torch.empty(0, 32, 128)
            for i in range(96):
                state = torch.tanh(state + 0.1)
                if by_cat:
                    history = torch.cat([history, state[None]])
                else:
                    buffer[i] = state

        return step

    return Forms(form(True), form(False))


def double_features() -> Forms:
    """Scale features by statistics in float64, which make the first half of a model compute so."""
    features, targets = torch.rand(256, 384), torch.rand(256, 64)

    def form(is_double: bool) -> Step:
        kind = torch.float64 if is_double else torch.float32
        mean, scale = torch.rand(384, dtype=kind), torch.rand(384, dtype=kind)
        body = nn.Sequential(nn.Linear(384, 384), nn.ReLU(), nn.Linear(384, 384)).to(kind)
        head = nn.Sequential(nn.Linear(384, 384), nn.ReLU(), nn.Linear(384, 64))
        model = nn.ModuleList([body, head])
        sgd = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)

        def step() -> None:
            sgd.zero_grad()
            hidden = body((features - mean) / scale).float()
            functional.mse_loss(head(hidden), targets).backward()
            sgd.step()

        return step

    return Forms(form(True), form(False))


class Head(nn.Module):
    """Blocks, and a head that may compute in float64."""

    def __init__(self, is_double: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 256))
        kind = torch.float64 if is_double else torch.float32
        self.head = nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.LayerNorm(256)).to(kind)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the head's output in float32."""
        hidden = self.body(inputs)
        result: torch.Tensor = self.head(hidden.to(self.head[0].weight.dtype)).float()
        return result


def double_head() -> Forms:
    """Compute the last third of a model in float64 on a device, or all in float32."""

    def form(is_double: bool) -> Step:
        inputs, targets = (torch.rand(256, 256).to("refdev") for _ in range(2))
        return training(
            Head(is_double), "refdev", batch=lambda: (inputs, targets), loss=functional.mse_loss
        )

    return Forms(form(True), form(False))


class Mixer(nn.Module):
    """Products over tokens, with the tokens last for each of them."""

    def __init__(self, converts: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(3))
        self.converts = converts

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the mixed tokens."""
        for layer in self.layers:
            if self.converts:
                turned = hidden.transpose(0, 1).contiguous()
                turned = functional.gelu(turned).transpose(0, 1).contiguous()
            else:
                turned = functional.gelu(hidden)
            hidden = layer(turned)
        return hidden


def turned_and_back() -> Forms:
    """Arrange activations anew before and behind each activation, or leave them."""

    def form(converts: bool) -> Step:
        inputs, targets = (torch.rand(256, 256).to("refdev") for _ in range(2))
        return training(
            Mixer(converts), "refdev", batch=lambda: (inputs, targets), loss=functional.mse_loss
        )

    return Forms(form(True), form(False))


PAIRS = (
    planted("attention_on_host", "attention by single operators", attention_on_host, "cpu"),
    planted("words_as_rows", "words looked up by one-hot rows", words_as_rows, "cpu"),
    planted("history_by_cat", "states collected by cat", history_by_cat, "cpu"),
    planted("double_features", "half of a model in float64", double_features, "cpu"),
    planted("double_head", "the head of a model in float64", double_head),
    planted("turned_and_back", "activations arranged twice", turned_and_back),
)
