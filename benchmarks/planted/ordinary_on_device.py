"""Ordinary faults on the reference device of kinds that had no rule: the first set of two."""

from __future__ import annotations

from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, planted
from benchmarks.planted.tuned_on_device import DEVICE, dense_network


def masked_words() -> Forms:
    """Score all words of a text and keep the masked ones, or score those alone."""
    words, width = 2048, 256
    hidden = torch.rand(768, width).to(DEVICE)
    masked = torch.arange(0, 768, 6).to(DEVICE)
    wanted = torch.randint(words, (128,)).to(DEVICE)

    def form(scores_all: bool) -> Step:
        body, head = dense_network(width, width, width), dense_network(width, width, words)
        model = nn.ModuleList((body, head))
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            states = body(hidden)
            if scores_all:
                scores = head(states).index_select(0, masked)
            else:
                scores = head(states.index_select(0, masked))
            functional.cross_entropy(scores, wanted).backward()
            sgd.step()
            sgd.zero_grad()

        return step

    return Forms(form(True), form(False))


def empty_prompts() -> Forms:
    """Encode one empty prompt for each picture, or once for all."""
    empty, pictures = torch.rand(1, 512).to(DEVICE), torch.rand(256, 512).to(DEVICE)

    def form(repeats: bool) -> Step:
        encoder, maker = dense_network(512, 512, 512, 512), dense_network(512, 512, 512)

        @torch.no_grad()
        def step() -> torch.Tensor:
            known = encoder(empty.expand(256, 512).contiguous() if repeats else empty)
            found: torch.Tensor = maker(pictures + known)
            return found

        return step

    return Forms(form(True), form(False))


def clipped_parts() -> Forms:
    """Clip the gradients behind each part of a batch, or once behind the last."""
    parts = [torch.rand(64, 512).to(DEVICE) for _ in range(4)]

    def form(clips_each: bool) -> Step:
        model = dense_network(512, 512, 512, 512, 512)
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            for at, part in enumerate(parts):
                model(part).square().mean().backward()
                if clips_each or at == len(parts) - 1:
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            sgd.step()
            sgd.zero_grad()

        return step

    return Forms(form(True), form(False))


PAIRS: Final = (
    planted("masked_words", "scores of all words for the masked ones", masked_words,
            settings=FASTER),
    planted("empty_prompts", "one prompt encoded for each picture", empty_prompts,
            settings=FASTER),
    planted("clipped_parts", "gradients clipped behind each part of a batch", clipped_parts,
            settings=FASTER),
)  # fmt: skip
