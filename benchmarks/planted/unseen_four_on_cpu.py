"""Ordinary faults in what a model computes on a processor; by the author of the host's."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted


class Ranking(nn.Module):
    """Scores of items for users, by factors and biases."""

    def __init__(self, users: int, items: int, width: int, *, sparse: bool) -> None:
        super().__init__()
        self.users = nn.Embedding(users, width, sparse=sparse)
        self.items = nn.Embedding(items, width, sparse=sparse)
        self.tower = nn.Sequential(
            nn.Linear(2 * width, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 1)
        )

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """Return a score for each user and item."""
        both = torch.cat([self.users(users), self.items(items)], 1)
        score: torch.Tensor = self.tower(both).squeeze(1)
        return score


def films_ranked() -> Forms:
    """Train tables of users and items with dense gradients, or with those of the rows used.

    From https://github.com/pytorch/pytorch/issues/5309 and
    https://github.com/neubig/nn4nlp-code/pull/26.
    """
    users, items = 60_000, 20_000
    batches = [
        (torch.randint(users, (384,)), torch.randint(items, (384,)), torch.randint(items, (384,)))
        for _ in range(8)
    ]

    def form(sparse: bool) -> Step:
        torch.manual_seed(0)
        model = Ranking(users, items, 32, sparse=sparse)
        sgd = torch.optim.SGD(model.parameters(), lr=0.05)
        number = 0

        def step() -> torch.Tensor:
            nonlocal number
            viewers, seen, unseen = batches[number % len(batches)]
            number += 1
            sgd.zero_grad()
            loss = -functional.logsigmoid(model(viewers, seen) - model(viewers, unseen)).mean()
            loss.backward()
            sgd.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


class Encoder(nn.Module):
    """Frames of speech from samples, as a pretrained model has them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.waves = nn.Sequential(
            nn.Conv1d(1, width, 10, stride=5), nn.GELU(), nn.Conv1d(width, width, 8, stride=4),
            nn.GELU(), nn.Conv1d(width, width, 4, stride=2), nn.GELU(),
        )  # fmt: skip
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True
        )
        self.context = nn.TransformerEncoder(layer, 1)

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        """Return a vector for each frame."""
        frames: torch.Tensor = self.context(self.waves(waves[:, None]).transpose(1, 2))
        return frames


def feelings_of_voices() -> Forms:
    """Train a head upon a pretrained encoder that takes gradients, or that is frozen.

    From https://www.codegenes.net/blog/freeze-backbone-pytorch,
    https://github.com/pytorch/audio/issues/1995 and
    https://github.com/pyannote/pyannote-audio/pull/1784.
    """
    voices, feelings = torch.randn(8, 8000), torch.randint(4, (8,))

    def form(frozen: bool) -> Step:
        torch.manual_seed(0)
        encoder = Encoder(64)
        head = nn.LSTM(64, 96, batch_first=True, bidirectional=True)
        scores = nn.Linear(192, 4)
        if frozen:
            encoder.requires_grad_(False).eval()
        adam = torch.optim.AdamW([*head.parameters(), *scores.parameters()], lr=1e-3, fused=True)

        def step() -> torch.Tensor:
            adam.zero_grad()
            with torch.set_grad_enabled(not frozen):
                frames = encoder(voices)
            loss = functional.cross_entropy(scores(head(frames)[0].mean(1)), feelings)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


def normalized(roads: torch.Tensor) -> torch.Tensor:
    """Return the adjacency of a graph, with loops, divided by the roots of degrees."""
    looped = roads + torch.eye(len(roads))
    root = torch.diag(looped.sum(1).pow(-0.5))
    return root @ looped @ root


class GraphConvolution(nn.Module):
    """A layer that normalizes the graph itself."""

    def __init__(self, inner: int, outer: int, roads: torch.Tensor) -> None:
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        self.roads = nn.Buffer(roads)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return what arrives at each node."""
        return functional.relu(normalized(self.roads) @ self.linear(hidden))


class CachedGraphConvolution(GraphConvolution):
    """A layer for a graph that stays as it is."""

    def __init__(self, inner: int, outer: int, roads: torch.Tensor) -> None:
        super().__init__(inner, outer, normalized(roads))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return what arrives at each node."""
        return functional.relu(self.roads @ self.linear(hidden))


def traffic_forecast() -> Forms:
    """Normalize the same graph of roads in every layer and step, or once.

    From https://github.com/snap-stanford/ogb/issues/130,
    https://github.com/VITA-Group/Deep_GCN_Benchmarking/issues/2 and
    https://github.com/dmlc/dgl/pull/307.
    """
    near = (torch.rand(207, 207) < 0.2).float()
    roads = (near + near.T).clamp(max=1).fill_diagonal_(0)
    past, future = torch.randn(16, 207, 24), torch.randn(16, 207, 12)

    def form(layer: type[GraphConvolution]) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(layer(24, 48, roads), layer(48, 48, roads), nn.Linear(48, 12))
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

        def step() -> torch.Tensor:
            adam.zero_grad()
            loss = functional.l1_loss(model(past), future)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(GraphConvolution), form(CachedGraphConvolution))


class Operator(nn.Module):
    """A field at points from the values of a function at sensors."""

    def __init__(self, sensors: int, width: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            nn.Linear(sensors, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, width),
        )  # fmt: skip
        self.trunk = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, width),
        )  # fmt: skip

    def forward(self, values: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
        """Return the field, a row for each function."""
        return torch.matmul(self.branch(values), self.trunk(points).T)


def fields_simulated() -> Forms:
    """Make the model double because NumPy's arrays are, or the arrays float.

    From https://openillumi.com/en/en-pytorch-double-expected-float-fix,
    https://github.com/pytorch/pytorch/issues/1997 and
    https://github.com/dingo-gw/dingo/pull/55.
    """
    rng = np.random.default_rng(0)
    values, points = rng.normal(size=(128, 100)), rng.uniform(size=(512, 2))
    fields = rng.normal(size=(128, 512))

    def form(dtype: torch.dtype) -> Step:
        torch.manual_seed(0)
        model = Operator(100, 192).to(dtype)
        known, places, truth = (torch.from_numpy(a).to(dtype) for a in (values, points, fields))
        adam = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

        def step() -> torch.Tensor:
            adam.zero_grad()
            loss = functional.mse_loss(model(known, places), truth)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(torch.float64), form(torch.float32))


PAIRS: Final = (
    planted("films_ranked", "sparse gradients of tables", films_ranked, "cpu"),
    planted("feelings_of_voices", "the encoder is frozen", feelings_of_voices, "cpu"),
    planted("traffic_forecast", "the graph is normalized once", traffic_forecast, "cpu"),
    planted("fields_simulated", "float instead of double", fields_simulated, "cpu"),
)
