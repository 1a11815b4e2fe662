"""Ordinary faults on a processor, written when the mechanisms for the first set were finished."""

from __future__ import annotations

from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import training


def context_beside_tokens() -> Forms:
    """Join one context of a text with each of its tokens, or add its part of the layer."""
    tokens, context = torch.rand(16, 128, 64), torch.rand(16, 192)
    wanted = torch.rand(16, 128, 1)

    def form(joins: bool) -> Step:
        layer = nn.Linear(256, 256)
        head = nn.Sequential(nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1))
        model = nn.ModuleList((layer, head))
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            if joins:
                hidden = layer(torch.cat([tokens, context[:, None].expand(-1, 128, -1)], dim=-1))
            else:
                own = functional.linear(tokens, layer.weight[:, :64])
                known = functional.linear(context, layer.weight[:, 64:], layer.bias)
                hidden = own + known[:, None]
            functional.mse_loss(head(hidden), wanted).backward()
            adam.step()
            adam.zero_grad()

        return step

    return Forms(form(True), form(False))


def bags_by_hand() -> Forms:
    """Average the words of texts by a lookup and a mean, or by a bag."""
    words, table = torch.randint(20_000, (256, 200)), torch.rand(20_000, 64)
    head = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 16))

    def form(looks_up: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            if looks_up:
                known = functional.embedding(words, table).mean(1)
            else:
                known = functional.embedding_bag(words, table, mode="mean")
            found: torch.Tensor = head(known)
            return found

        return step

    return Forms(form(True), form(False))


def cosine_of_pairs() -> Forms:
    """Compare all pairs by their cosine from broadcast vectors, or by a product of unit vectors."""
    texts, pictures = torch.rand(96, 96), torch.rand(96, 96)
    layer = nn.Sequential(nn.Linear(96, 1024), nn.ReLU(), nn.Linear(1024, 96))

    def form(broadcasts: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            left, right = layer(texts), layer(pictures)
            if broadcasts:
                return functional.cosine_similarity(left[:, None], right[None], dim=-1)
            return functional.normalize(left, dim=-1) @ functional.normalize(right, dim=-1).T

        return step

    return Forms(form(True), form(False))


def one_branch_each() -> Forms:
    """Run two networks on all rows and keep one result of each row, or run each on its own."""
    rows, is_first = torch.rand(2048, 128), torch.rand(2048) < 0.2

    def form(runs_both: bool) -> Step:
        first, second = (
            nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 32)) for _ in range(2)
        )
        own, other = is_first.nonzero()[:, 0], (~is_first).nonzero()[:, 0]

        @torch.no_grad()
        def step() -> torch.Tensor:
            if runs_both:
                return torch.where(is_first[:, None], first(rows), second(rows))
            found = torch.empty(2048, 32)
            found.index_copy_(0, own, first(rows[own]))
            return found.index_copy_(0, other, second(rows[other]))

        return step

    return Forms(form(True), form(False))


def classes_one_by_one() -> Forms:
    """Count the right answers of each class in a loop, or of all by two counts."""
    inputs, wanted = torch.rand(256, 128), torch.randint(50, (256,))

    def form(loops: bool) -> Step:
        model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 50))
        kept: list[torch.Tensor] = [torch.zeros(50)]

        def count(_: torch.Tensor) -> None:
            with torch.no_grad():
                chosen = model(inputs).argmax(dim=1)
            if loops:
                parts = [
                    ((chosen == each) & (wanted == each)).sum()
                    / (wanted == each).sum().clamp(min=1)
                    for each in range(50)
                ]
                kept[0] = torch.stack(parts)
            else:
                right = torch.bincount(wanted[chosen == wanted], minlength=50)
                kept[0] = right / torch.bincount(wanted, minlength=50).clamp(min=1)

        return training(model, "cpu", batch=lambda: (inputs, wanted), after_backward=count)

    return Forms(form(True), form(False))


def full_spectrum() -> Forms:
    """Limit a weight by all of its singular values, or by steps to the greatest."""
    inputs = torch.rand(512, 320)

    def form(computes_all: bool) -> Step:
        weight, layer = torch.rand(320, 320), nn.Linear(320, 320)
        vector = torch.rand(320)

        @torch.no_grad()
        def step() -> torch.Tensor:
            nonlocal vector
            if computes_all:
                most = torch.linalg.svdvals(weight)[0]
            else:
                for _ in range(3):
                    vector = weight.T @ (weight @ vector)
                    vector = vector / vector.norm()
                most = (weight @ vector).norm()
            found: torch.Tensor = layer(torch.relu(inputs @ (weight / most)))
            return found

        return step

    return Forms(form(True), form(False))


def counts_by_rows() -> Forms:
    """Count words by one-hot rows that are added up, or by their numbers."""
    words, inputs = torch.randint(2000, (512,)), torch.rand(64, 2000)
    layers = nn.Sequential(nn.Linear(2000, 512), nn.ReLU(), nn.Linear(512, 2000))

    def form(makes_rows: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            if makes_rows:
                counts = functional.one_hot(words, 2000).sum(0)
            else:
                counts = torch.bincount(words, minlength=2000)
            found: torch.Tensor = layers(inputs * counts.float())
            return found

        return step

    return Forms(form(True), form(False))


PAIRS: Final = tuple(
    replace(planted(build.__name__, what, build, "cpu"), of_process=True)
    for what, build in (
        ("a context joined with each token", context_beside_tokens),
        ("words looked up and averaged", bags_by_hand),
        ("cosines of pairs by broadcast vectors", cosine_of_pairs),
        ("two networks for all rows, where one is kept", one_branch_each),
        ("answers counted class by class", classes_one_by_one),
        ("all singular values for the greatest", full_spectrum),
        ("words counted by one-hot rows", counts_by_rows),
    )
)
