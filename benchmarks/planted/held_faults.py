"""Held-out faults, planted in other programs when the rules were finished."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import numpy as np
import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted

DEVICE = "refdev"
CLASSES = 640


class PictureNetwork(nn.Module):
    """Two layers on each of 16 patches, and a classifier."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(48, 4 * channels), nn.Linear(4 * channels, channels)
        self.head = nn.Linear(16 * channels, CLASSES)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        """Return a score for each class."""
        hidden = functional.relu(self.second(functional.relu(self.first(patches))))
        scores: torch.Tensor = self.head(hidden.flatten(1))
        return scores


def pictures_and_labels(number: int = 48) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a batch on the device."""
    return (
        torch.rand(number, 16, 48).to(DEVICE),
        torch.randint(CLASSES, (number,)).to(DEVICE),
    )


def masked_loss() -> Forms:
    """Take the loss over the samples that a mask selects, or weigh all samples by the mask."""

    def form(selects: bool) -> Step:
        model = PictureNetwork().to(DEVICE)
        adam = torch.optim.Adam(model.parameters(), fused=True)
        pictures, labels = pictures_and_labels(16)
        valid = (torch.arange(16) % 3 > 0).to(DEVICE)
        weight = valid.to(torch.float32) / 10

        def step() -> None:
            adam.zero_grad()
            scores = model(pictures)
            if selects:
                loss = functional.cross_entropy(scores[valid], labels[valid])
            else:
                each = functional.cross_entropy(scores, labels, reduction="none")
                loss = torch.dot(each, weight)
            loss.backward()
            adam.step()

        return step

    return Forms(form(True), form(False))


def smoothed_loss() -> Forms:
    """Smooth labels by hand, or by the argument of the loss."""

    def by_hand(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        total = torch.logsumexp(scores, dim=-1, keepdim=True)
        logs = scores - total
        right = logs.gather(1, labels[:, None]).squeeze(1)
        return -(0.9 * right + 0.1 * logs.mean(-1)).mean()

    def form(fused: bool) -> Step:
        model = PictureNetwork(channels=4).to(DEVICE)
        adam = torch.optim.Adam(model.parameters(), fused=True)
        pictures, labels = pictures_and_labels(256)

        def step() -> None:
            adam.zero_grad()
            scores = model(pictures)
            loss = (
                functional.cross_entropy(scores, labels, label_smoothing=0.1)
                if fused
                else by_hand(scores, labels)
            )
            loss.backward()
            adam.step()

        return step

    return Forms(form(False), form(True))


def bag_loop() -> Forms:
    """Average the words of each text alone, or of all texts at once."""
    texts = torch.randint(1000, (48, 12)).to(DEVICE)
    table = torch.rand(1000, 64).to(DEVICE)
    layer = nn.Linear(64, 256).to(DEVICE)

    @torch.no_grad()
    def alone() -> torch.Tensor:
        means = [table[texts[i]].mean(0) for i in range(len(texts))]
        scores: torch.Tensor = layer(torch.stack(means))
        return scores

    @torch.no_grad()
    def at_once() -> torch.Tensor:
        scores: torch.Tensor = layer(table[texts].mean(1))
        return scores

    return Forms(alone, at_once)


def segment_one_hot() -> Forms:
    """Sum rows by segment with a one-hot product, or by ``index_add``."""
    segment = torch.randint(256, (768,)).to(DEVICE)
    layer = nn.Linear(192, 192).to(DEVICE)
    rows = torch.rand(768, 192).to(DEVICE)

    @torch.no_grad()
    def by_product() -> torch.Tensor:
        hidden = layer(rows)
        chosen = functional.one_hot(segment, 256).to(torch.float32)
        return chosen.t() @ hidden

    @torch.no_grad()
    def by_index() -> torch.Tensor:
        hidden = layer(rows)
        sums = torch.zeros(256, 192, device=DEVICE)
        return sums.index_add_(0, segment, hidden)

    return Forms(by_product, by_index)


def host_metrics() -> Forms:
    """Count right answers in numpy after each batch, or on the device."""

    def form(on_host: bool) -> Step:
        model = PictureNetwork().to(DEVICE)
        pictures, labels = pictures_and_labels(8)
        right = torch.zeros((), dtype=torch.long, device=DEVICE)
        wanted = labels.cpu().numpy()
        total = np.zeros(1)

        @torch.no_grad()
        def step() -> None:
            for _ in range(4):
                best = model(pictures).argmax(-1)
                if on_host:
                    total[0] += (best.cpu().numpy() == wanted).sum()
                else:
                    right.add_((best == labels).sum())

        return step

    return Forms(form(True), form(False))


def moving_average() -> Forms:
    """Average parameters one by one, or all in two calls."""

    def form(one_by_one: bool) -> Step:
        model = nn.Sequential(*(nn.Linear(48, 48) for _ in range(24))).to(DEVICE)
        adam = torch.optim.Adam(model.parameters(), fused=True)
        inputs = torch.rand(32, 48).to(DEVICE)
        parameters: list[torch.Tensor] = list(model.parameters())
        average = [parameter.detach().clone() for parameter in parameters]

        def step() -> None:
            adam.zero_grad()
            model(inputs).square().mean().backward()
            adam.step()
            with torch.no_grad():
                if one_by_one:
                    for mean, parameter in zip(average, parameters, strict=True):
                        mean.mul_(0.99).add_(parameter, alpha=0.01)
                else:
                    torch._foreach_lerp_(average, parameters, 0.01)

        return step

    return Forms(form(True), form(False))


def pickled_state() -> Forms:
    """Pickle the parameters as arrays after every second batch, or never."""
    path = Path(tempfile.mkdtemp(), "state.pickle")

    def form(saves: bool) -> Step:
        model = PictureNetwork().to(DEVICE)
        adam = torch.optim.Adam(model.parameters(), fused=True)
        pictures, labels = pictures_and_labels()
        count = 0

        def keep() -> None:
            state = {name: value.cpu().numpy() for name, value in model.state_dict().items()}
            with path.open("wb") as file:
                pickle.dump(state, file)

        def step() -> None:
            nonlocal count
            count += 1
            adam.zero_grad()
            functional.cross_entropy(model(pictures), labels).backward()
            adam.step()
            if saves and count % 2 == 0:
                keep()

        return step

    return Forms(form(True), form(False))


class Attending(nn.Module):
    """Attention of four heads."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(128, 384), nn.Linear(128, 128)
        self.fused = fused

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the tokens, mixed."""
        batch, length, width = tokens.shape
        parts = self.inner(tokens).view(batch, length, 4, -1).transpose(1, 2)
        query, key, value = parts.chunk(3, dim=-1)
        if self.fused:
            mixed = functional.scaled_dot_product_attention(query, key, value)
        else:
            scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
            mixed = scores.softmax(dim=-1) @ value
        result: torch.Tensor = self.outer(mixed.transpose(1, 2).reshape(batch, length, width))
        return result


def attention_by_hand() -> Forms:
    """Attend by products and a softmax, or by one operator."""

    def form(fused: bool) -> Step:
        model = nn.Sequential(*(Attending(fused) for _ in range(2))).to(DEVICE)
        tokens = torch.rand(2, 128, 128).to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            scores: torch.Tensor = model(tokens)
            return scores

        return step

    return Forms(form(False), form(True))


def host_augmentation() -> Forms:
    """Sort and smooth signals in numpy before each batch, or not at all."""
    signals = np.random.default_rng(0).random((32, 4096))

    def form(augments: bool) -> Step:
        model = nn.Linear(256, 256).to(DEVICE)
        inputs = torch.rand(32, 256).to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            if augments:
                np.cumsum(np.sort(signals, axis=1), axis=1)
            hidden = inputs
            for _ in range(4):
                hidden = model(hidden)
            return hidden

        return step

    return Forms(form(True), form(False))


PAIRS = (
    planted("masked_loss", "samples selected by a mask before the loss", masked_loss),
    planted("smoothed_loss", "labels smoothed by hand", smoothed_loss),
    planted("bag_loop", "texts averaged one by one", bag_loop),
    planted("segment_one_hot", "segments summed by a one-hot product", segment_one_hot),
    planted("host_metrics", "answers counted in numpy", host_metrics),
    planted("moving_average", "parameters averaged one by one", moving_average),
    planted("pickled_state", "parameters pickled every second step", pickled_state),
    planted("attention_by_hand", "attention by two products and a softmax", attention_by_hand),
    planted("host_augmentation", "signals sorted in numpy", host_augmentation),
)
