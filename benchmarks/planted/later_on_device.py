"""Faults in the device's work, planted when the rules were finished."""

from __future__ import annotations

import math

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import training
from benchmarks.planted.tuned_on_device import DEVICE, Attention, dense_network, fused_attention


class AttentionByHand(Attention):
    """The same layer, whose attention is written down as in the paper."""

    def attend(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Return attention to all earlier tokens, by single operators."""
        tokens, width = query.shape[-2:]
        scores = query @ keys.transpose(-1, -2) / math.sqrt(width)
        later = torch.ones(tokens, tokens, dtype=torch.bool, device=query.device).triu(1)
        return scores.masked_fill(later, -math.inf).softmax(dim=-1) @ values


def attention_by_hand() -> Forms:
    """Attend by single operators, or by one."""

    def form(layer: type[Attention]) -> Step:
        hidden = torch.rand(2, 256, 128).to(DEVICE)
        targets = torch.rand(2, 256, 128).to(DEVICE)
        model = nn.Sequential(layer(128, 4), layer(128, 4))
        return training(model, DEVICE, batch=lambda: (hidden, targets), loss=functional.mse_loss)

    return Forms(form(AttentionByHand), form(Attention))


class Gated(nn.Module):
    """A gated block, as in Llama."""

    def __init__(self, width: int, by_hand: bool) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width)
        self.down = nn.Linear(3 * width, width)
        self.by_hand = by_hand

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state with what the block adds."""
        gate, up = self.gate(hidden), self.up(hidden)
        if self.by_hand:
            open_share = 1.0 / (1.0 + torch.exp(-gate))
            return hidden + self.down(gate * open_share * up)
        return hidden + self.down(functional.silu(gate) * up)


def gate_by_hand() -> Forms:
    """Compute the gate's sigmoid by its formula, or by one operator."""

    def form(by_hand: bool) -> Step:
        hidden, targets = torch.rand(256, 128).to(DEVICE), torch.rand(256, 128).to(DEVICE)
        model = nn.Sequential(*(Gated(128, by_hand) for _ in range(4)))
        return training(model, DEVICE, batch=lambda: (hidden, targets), loss=functional.mse_loss)

    return Forms(form(True), form(False))


class Groups(nn.Module):
    """A normalization in groups of channels, of pictures without convolutions."""

    def __init__(self, channels: int, by_hand: bool) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, channels)
        self.mix = nn.Linear(channels, channels)
        self.by_hand = by_hand

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the mixed channels of normalized pixels."""
        if not self.by_hand:
            normal = self.norm(pixels)
        else:
            count, channels = pixels.shape[:2]
            grouped = pixels.reshape(count, 8, -1)
            variance, mean = torch.var_mean(grouped, dim=-1, keepdim=True, unbiased=False)
            normal = ((grouped - mean) / torch.sqrt(variance + 1e-5)).view_as(pixels)
            scale, shift = (
                part.view(1, channels, 1) for part in (self.norm.weight, self.norm.bias)
            )
            normal = normal * scale + shift
        return functional.relu(self.mix(normal.transpose(1, 2))).transpose(1, 2)


def group_norm_by_hand() -> Forms:
    """Normalize groups by seven operators, or by one."""

    def form(by_hand: bool) -> Step:
        model = nn.Sequential(*(Groups(64, by_hand) for _ in range(3))).to(DEVICE)
        pixels = torch.rand(8, 64, 256).to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            normal: torch.Tensor = model(pixels)
            return normal

        return step

    return Forms(form(True), form(False))


def repeated_keys() -> Forms:
    """Copy the cache once for each query head that shares a key head, or let them share it."""
    sequences, heads, groups, tokens, width = 16, 2, 4, 64, 64
    keys, values = (torch.rand(sequences, heads, tokens, width).to(DEVICE) for _ in range(2))
    first = torch.rand(sequences, heads * groups, 1, width).to(DEVICE)
    mix = nn.Linear(width, width).to(DEVICE)

    def form(copies: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            query = first
            for _ in range(6):
                if copies:
                    wide_keys = keys.repeat_interleave(groups, dim=1)
                    wide_values = values.repeat_interleave(groups, dim=1)
                    found = fused_attention(query, wide_keys, wide_values, causal=False)
                else:
                    together = query.view(sequences, heads, groups, width)
                    found = fused_attention(together, keys, values, causal=False).view_as(query)
                query = mix(found)
            return query

        return step

    return Forms(form(True), form(False))


def decoder(dtype: torch.dtype) -> nn.Module:
    """Return layers whose weights are all that decoding reads."""
    return dense_network(768, 1536, 768, 1536, 768).to(dtype)


def wide_weights() -> Forms:
    """Decode with weights in float32, or in bfloat16."""

    def form(dtype: torch.dtype) -> Step:
        model, first = decoder(dtype), torch.rand(4, 768, dtype=dtype).to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            hidden = first
            for _ in range(3):
                hidden = model(hidden)
            return hidden

        return step

    return Forms(form(torch.float32), form(torch.bfloat16))


def one_sequence() -> Forms:
    """Decode eight sequences one after the other, or together."""
    model, first = decoder(torch.float32), torch.rand(8, 768).to(DEVICE)

    @torch.no_grad()
    def alone() -> torch.Tensor:
        return torch.cat([model(first[i : i + 1]) for i in range(len(first))])

    @torch.no_grad()
    def together() -> torch.Tensor:
        hidden: torch.Tensor = model(first)
        return hidden

    return Forms(alone, together)


def cell_by_cell() -> Forms:
    """Multiply the input of each time step alone, or of all before the loop."""
    count, times, width = 8, 32, 384
    inputs = torch.rand(times, count, width).to(DEVICE)
    inner, outer = nn.Linear(width, width).to(DEVICE), nn.Linear(width, width).to(DEVICE)

    @torch.no_grad()
    def each() -> torch.Tensor:
        state = torch.zeros(count, width, device=DEVICE)
        for time in range(times):
            state = torch.tanh(outer(inputs[time]) + inner(state))
        return state

    @torch.no_grad()
    def before() -> torch.Tensor:
        state = torch.zeros(count, width, device=DEVICE)
        for entered in outer(inputs).unbind(0):
            state = torch.tanh(entered + inner(state))
        return state

    return Forms(each, before)


def likelihood_by_hand() -> Forms:
    """Compute the binary cross entropy of many labels by its formula, or by one operator."""

    def by_hand(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        chances = 1.0 / (1.0 + torch.exp(-logits))
        right = labels * torch.log(chances + 1e-8)
        wrong = (1.0 - labels) * torch.log(1.0 - chances + 1e-8)
        return -(right + wrong).mean()

    def form(by_formula: bool) -> Step:
        inputs = torch.rand(64, 128).to(DEVICE)
        labels = torch.randint(2, (64, 2048)).float().to(DEVICE)
        loss = by_hand if by_formula else functional.binary_cross_entropy_with_logits
        return training(
            dense_network(128, 256, 2048), DEVICE, batch=lambda: (inputs, labels), loss=loss
        )

    return Forms(form(True), form(False))


PAIRS = (
    planted("attention_by_hand", "attention by single operators", attention_by_hand),
    planted("gate_by_hand", "a gate by its formula", gate_by_hand),
    planted("group_norm_by_hand", "a norm of groups by hand", group_norm_by_hand),
    planted("repeated_keys", "a cache copied for each query head", repeated_keys),
    planted("wide_weights", "decoding with weights in float32", wide_weights),
    planted("one_sequence", "eight sequences decoded one by one", one_sequence),
    planted("cell_by_cell", "a recurrent input multiplied step by step", cell_by_cell),
    planted("likelihood_by_hand", "binary cross entropy by its formula", likelihood_by_hand),
)
