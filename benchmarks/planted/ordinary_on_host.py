"""Ordinary faults on a processor of kinds that had no rule: the first set of two."""

from __future__ import annotations

from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.planted.fault import planted


def chain_order() -> Forms:
    """Multiply three matrices from the left, or the two small ones first."""
    queries, keys, values = (torch.rand(4, 1024, 64) for _ in range(3))
    entry, leave = nn.Linear(64, 256), nn.Linear(256, 64)

    def form(from_left: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            asked = torch.relu(queries) + 1
            if from_left:
                mixed = (asked @ keys.transpose(1, 2)) @ values
            else:
                mixed = asked @ (keys.transpose(1, 2) @ values)
            found: torch.Tensor = leave(functional.gelu(entry(mixed)))
            return found

        return step

    return Forms(form(True), form(False))


def categories_through_layers() -> Forms:
    """Look categories up ahead of their layers, or behind them."""
    chosen, numbers, wanted = torch.randint(96, (4096,)), torch.rand(4096, 128), torch.rand(4096, 1)

    def form(looks_up_first: bool) -> Step:
        table = nn.Embedding(96, 128)
        layers = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128))
        head = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
        model = nn.ModuleList((table, layers, head))
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            if looks_up_first:
                known = layers(table(chosen))
            else:
                known = functional.embedding(chosen, layers(table.weight))
            functional.mse_loss(head(known + numbers), wanted).backward()
            adam.step()
            adam.zero_grad()

        return step

    return Forms(form(True), form(False))


def diagonal_scaling() -> Forms:
    """Scale rows by a product with a diagonal matrix, or by a broadcast."""
    weights, inputs = torch.rand(768) + 0.5, torch.rand(768, 512)
    layers = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 256))

    def form(multiplies: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            scaled = torch.diag(weights) @ inputs if multiplies else weights[:, None] * inputs
            found: torch.Tensor = layers(scaled)
            return found

        return step

    return Forms(form(True), form(False))


def rows_by_index() -> Forms:
    """Choose the rows of a trained tensor by an index, or by a lookup."""
    chosen, targets = torch.randint(2000, (8192,)), torch.rand(8192, 64)

    def form(indexes: bool) -> Step:
        table = nn.Parameter(torch.rand(2000, 64))
        layer = nn.Linear(64, 64)
        adam = torch.optim.AdamW([table, *layer.parameters()], lr=1e-3, fused=True)

        def step() -> None:
            rows = table[chosen] if indexes else functional.embedding(chosen, table)
            functional.mse_loss(layer(rows), targets).backward()
            adam.step()
            adam.zero_grad()

        return step

    return Forms(form(True), form(False))


class Experts(nn.Module):
    """Layers, where each token has one: all computed first, or each its own tokens."""

    def __init__(self, computes_all: bool, count: int = 6, width: int = 128) -> None:
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in range(count)
        )
        self.computes_all = computes_all

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the result of each token's expert, with the shape tokens, width."""
        chosen = self.gate(tokens).argmax(dim=-1)
        if self.computes_all:
            every = torch.stack([expert(tokens) for expert in self.experts], dim=1)
            index = chosen[:, None, None].expand(-1, 1, tokens.shape[1])
            return every.gather(1, index).squeeze(1)
        order = chosen.argsort()
        counts = torch.bincount(chosen, minlength=len(self.experts)).tolist()
        parts = tokens[order].split(counts)
        found = [expert(part) for expert, part in zip(self.experts, parts, strict=True)]
        return torch.empty_like(tokens).index_copy_(0, order, torch.cat(found))


def all_experts() -> Forms:
    """Compute all experts for each token and choose, or choose first."""
    tokens = torch.rand(2048, 128)

    def form(computes_all: bool) -> Step:
        model = Experts(computes_all)

        @torch.no_grad()
        def step() -> torch.Tensor:
            found: torch.Tensor = model(tokens)
            return found

        return step

    return Forms(form(True), form(False))


def unfolded_convolution() -> Forms:
    """Convolve by windows that are laid out in memory, or by the operator."""
    pictures = torch.rand(8, 16, 64, 64)
    weight, head = torch.rand(32, 16, 3, 3), nn.Conv2d(32, 16, 1)

    def form(unfolds: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            if unfolds:
                windows = functional.unfold(pictures, 3, padding=1)
                found = (weight.flatten(1) @ windows).unflatten(2, (64, 64))
            else:
                found = functional.conv2d(pictures, weight, padding=1)
            scores: torch.Tensor = head(torch.relu(found))
            return scores

        return step

    return Forms(form(True), form(False))


def flattened_gradients() -> Forms:
    """Measure the gradients' norm by one long copy of them, or by their own norms."""
    inputs, wanted = torch.rand(16, 1024), torch.rand(16, 1024)

    def form(copies: bool) -> Step:
        model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(4)))
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            functional.mse_loss(model(inputs), wanted).backward()
            gradients = [one.grad for one in model.parameters() if one.grad is not None]
            if copies:
                norm = torch.cat([one.flatten() for one in gradients]).norm()
            else:
                norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
            torch._foreach_mul_(gradients, (1 / (norm + 1e-6)).clamp(max=1))
            sgd.step()
            sgd.zero_grad()

        return step

    return Forms(form(True), form(False))


def probabilities_before_topk() -> Forms:
    """Choose the best words by their probabilities, or by their scores."""
    hidden, head = torch.rand(64, 96), nn.Linear(96, 32000)

    def form(normalizes: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            scores = head(hidden)
            if normalizes:
                return torch.softmax(scores, dim=-1).topk(5, dim=-1).indices
            return scores.topk(5, dim=-1).indices  # type: ignore[no-any-return]

        return step

    return Forms(form(True), form(False))


def lists_of_texts() -> Forms:
    """Make a batch from lists of numbers in each step, or keep it as one tensor and cut."""
    texts = [[(7 * i + j) % 1000 for j in range(64)] for i in range(512)]
    kept = torch.tensor(texts)
    table = nn.EmbeddingBag(1000, 512)
    head = nn.Sequential(*(nn.Linear(512, 512) for _ in range(4)))

    def form(makes: bool) -> Step:
        place = 0

        @torch.no_grad()
        def step() -> torch.Tensor:
            nonlocal place
            place = (place + 128) % 512
            if makes:
                rows = [torch.tensor(text) for text in texts[place : place + 128]]
                batch = torch.stack(rows)
            else:
                batch = kept[place : place + 128]
            found: torch.Tensor = head(table(batch))
            return found

        return step

    return Forms(form(True), form(False))


def _timed(pair: Pair) -> Pair:
    """Return the pair, timed by the process's own time."""
    return replace(pair, of_process=True)


PAIRS: Final = tuple(
    _timed(planted(build.__name__, what, build, "cpu"))
    for what, build in (
        ("three matrices multiplied from the left", chain_order),
        ("categories looked up ahead of their layers", categories_through_layers),
        ("rows scaled by a diagonal matrix", diagonal_scaling),
        ("rows of a trained tensor chosen by an index", rows_by_index),
        ("all experts computed for each token", all_experts),
        ("a convolution by windows in memory", unfolded_convolution),
        ("a norm of gradients that are copied into one", flattened_gradients),
        ("probabilities, whose best are chosen", probabilities_before_topk),
        ("a batch made from lists of numbers", lists_of_texts),
    )
)
