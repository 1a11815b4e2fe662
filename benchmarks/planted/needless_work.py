"""Work that repeats itself or that nobody reads, planted after the rules on it were finished."""

from __future__ import annotations

import math
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, planted
from benchmarks.planted.tuned_on_device import DEVICE, Attention

HOST: Final = "cpu"


def waves(length: int, width: int) -> torch.Tensor:
    """Return the sines and cosines of places."""
    places = torch.arange(length, dtype=torch.float32)[:, None]
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(places * rates)
    table[:, 1::2] = torch.cos(places * rates)
    return table


def position_table() -> Forms:
    """Make the table of positions in each forward pass, or once."""
    length, width = 1536, 128
    tokens = torch.randint(400, (1, length))

    def form(is_kept: bool) -> Step:
        words, kept = nn.Embedding(400, width), waves(length, width)
        model = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 8))
        adam = torch.optim.AdamW([*words.parameters(), *model.parameters()], fused=True)

        def step() -> None:
            hidden = words(tokens) + (kept if is_kept else waves(length, width))
            adam.zero_grad()
            model(hidden).square().mean().backward()
            adam.step()

        return step

    return Forms(form(False), form(True))


def two_towers() -> Forms:
    """Compute the gradients of a tower that is not trained, or not; batch and width are equal."""
    size = 192

    def tower() -> nn.Sequential:
        layers = [part for _ in range(4) for part in (nn.Linear(size, size), nn.SiLU())]
        return nn.Sequential(*layers, nn.LayerNorm(size))

    def form(is_frozen: bool) -> Step:
        texts, pictures = tower(), tower()
        texts.requires_grad_(not is_frozen)
        mixer = nn.Linear(size, 2 * size)
        adam = torch.optim.Adam([*mixer.parameters()], foreach=True)
        pictures.requires_grad_(False)

        def step() -> None:
            noisy = torch.randn(size, size) * 0.1
            joined = mixer(texts(noisy) + pictures(noisy))
            adam.zero_grad()
            joined.logsumexp(-1).mean().backward()
            adam.step()

        return step

    return Forms(form(False), form(True))


def side_decoder() -> Forms:
    """Decode what the loss does not ask for, or leave it."""
    rows, size = 256, 320

    def form(decodes: bool) -> Step:
        encoder = nn.Sequential(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        decoder = nn.Sequential(
            nn.Linear(64, 512), nn.ReLU(inplace=True), nn.Linear(512, 512), nn.Sigmoid()
        )
        head = nn.Linear(64, 10)
        trained = [*encoder.parameters(), *head.parameters()]
        sgd = torch.optim.SGD(trained, lr=0.01, momentum=0.9, foreach=True)

        def step() -> torch.Tensor | None:
            inputs, labels = torch.rand(rows, size), torch.randint(10, (rows,))
            code = encoder(inputs)
            picture = decoder(code) if decodes else None
            loss = functional.cross_entropy(head(code), labels)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            return picture

        return step

    return Forms(form(True), form(False))


def normalized_catalog() -> Forms:
    """Normalize all vectors of a catalog for each query, or once."""
    goods, width, queries = 6000, 96, 32

    def form(is_kept: bool) -> Step:
        catalog, tower = torch.rand(goods, width), nn.Linear(width, width)
        kept = functional.normalize(catalog, dim=-1)

        @torch.no_grad()
        def step() -> torch.Tensor:
            asked = functional.normalize(tower(torch.rand(queries, width)), dim=-1)
            vectors = kept if is_kept else functional.normalize(catalog, dim=-1)
            return (asked @ vectors.t()).topk(10).indices

        return step

    return Forms(form(False), form(True))


def cast_in_each_call() -> Forms:
    """Convert the weight of a recurrent layer in each of its calls, or once."""
    steps, rows, width = 12, 48, 256

    def form(is_kept: bool) -> Step:
        stored = (torch.rand(width, width) * 0.01).bfloat16()
        kept, state = stored.float(), torch.rand(rows, width)

        @torch.no_grad()
        def step() -> torch.Tensor:
            hidden = state
            for _ in range(steps):
                weight = kept if is_kept else stored.float()
                hidden = torch.tanh(functional.linear(hidden, weight)) + state
            return hidden

        return step

    return Forms(form(False), form(True))


def biases_by_distance() -> Forms:
    """Make the biases of distances in each layer, or once for all."""
    texts, tokens, width, heads = 2, 192, 96, 4
    layers = [Attention(width, heads).to(DEVICE) for _ in range(4)]
    norms = [nn.LayerNorm(width).to(DEVICE) for _ in layers]
    state = torch.rand(texts, tokens, width).to(DEVICE)

    def biases() -> torch.Tensor:
        places = torch.arange(tokens, device=DEVICE)
        distance = (places[:, None] - places[None]).abs().float()
        slopes = torch.exp2(-torch.arange(1, heads + 1, device=DEVICE).float())
        return torch.tril(-distance * slopes[:, None, None])

    def form(in_each: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            hidden, shared = state, None if in_each else biases()
            for layer, norm in zip(layers, norms, strict=True):
                given = biases() if shared is None else shared
                hidden = norm(layer(hidden)) + given.mean() + hidden
            return hidden

        return step

    return Forms(form(True), form(False))


def uploaded_table() -> Forms:
    """Copy a table that never changes to the device in each step, or once."""
    rows, width = 2048, 96
    table, inputs = torch.rand(rows, width), torch.rand(rows, width).to(DEVICE)
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 8)).to(DEVICE)

    def form(is_kept: bool) -> Step:
        kept = table.to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            scores: torch.Tensor = model(inputs + (kept if is_kept else table.to(DEVICE)))
            return scores

        return step

    return Forms(form(False), form(True))


PAIRS: Final = (
    planted("position_table", "a table of positions made in each pass", position_table, HOST),
    planted("two_towers", "gradients of a tower that is not trained", two_towers, HOST),
    planted("side_decoder", "a decoder that no loss asks for", side_decoder, HOST),
    planted("normalized_catalog", "a catalog normalized in each step", normalized_catalog, HOST),
    planted("cast_in_each_call", "a weight converted in each call", cast_in_each_call, HOST),
    planted("biases_by_distance", "biases made in each layer", biases_by_distance, DEVICE, FASTER),
    planted("uploaded_table", "a table copied in each step", uploaded_table, DEVICE, FASTER),
)
