"""Ordinary faults on the device, written when the mechanisms for the first set were finished."""

from __future__ import annotations

from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, planted
from benchmarks.planted.tuned_on_device import DEVICE, dense_network


def pooled_behind_head() -> Forms:
    """Score all tokens and average the scores, or score the average."""
    tokens, classes = torch.rand(16, 64, 256).to(DEVICE), 512

    def form(scores_all: bool) -> Step:
        body, head = dense_network(256, 256, 256), nn.Linear(256, classes).to(DEVICE)
        model = nn.ModuleList((body, head))
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            states = body(tokens)
            scores = head(states).mean(1) if scores_all else head(states.mean(1))
            scores.square().mean().backward()
            sgd.step()
            sgd.zero_grad()

        return step

    return Forms(form(True), form(False))


def covariance_times_vectors() -> Forms:
    """Multiply vectors by a covariance that is made for them, or by its two factors."""
    samples, vectors = torch.rand(1024, 768).to(DEVICE), torch.rand(768, 16).to(DEVICE)

    def form(makes: bool) -> Step:
        layer = dense_network(768, 768)

        @torch.no_grad()
        def step() -> torch.Tensor:
            states = layer(samples)
            if makes:
                return (states.T @ states) @ vectors
            return states.T @ (states @ vectors)

        return step

    return Forms(form(True), form(False))


def both_directions() -> Forms:
    """Score texts by pictures and pictures by texts, or turn the scores."""
    texts, pictures = torch.rand(512, 256).to(DEVICE), torch.rand(512, 256).to(DEVICE)
    places = torch.arange(512).to(DEVICE)

    def form(multiplies_twice: bool) -> Step:
        left, right = dense_network(256, 256), dense_network(256, 256)
        model = nn.ModuleList((left, right))
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            one, other = left(texts), right(pictures)
            scores = one @ other.T
            turned = other @ one.T if multiplies_twice else scores.T
            loss = functional.cross_entropy(scores, places)
            (loss + functional.cross_entropy(turned, places)).backward()
            sgd.step()
            sgd.zero_grad()

        return step

    return Forms(form(True), form(False))


PAIRS: Final = (
    planted("pooled_behind_head", "scores of all tokens, averaged", pooled_behind_head,
            settings=FASTER),
    planted("covariance_times_vectors", "a covariance made for a few vectors",
            covariance_times_vectors, settings=FASTER),
    planted("both_directions", "scores computed in both directions", both_directions,
            settings=FASTER),
)  # fmt: skip
