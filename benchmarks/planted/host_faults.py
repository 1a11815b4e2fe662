"""Faults of the host: it blocks, waits or works while the device has nothing to do."""

from __future__ import annotations

import gc
import json
import os
import tempfile
from pathlib import Path

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn

from benchmarks.pairs.host_programs import Pictures, perceptron
from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import (
    TOKENS,
    Network,
    inference,
    training,
    words_and_targets,
)

DEVICE = "refdev"
DEEP = 12
"""Blocks of a network with many parameters."""

FEW = 16
"""Words of a batch whose step is short, so that a wait is a good part of it."""


def reads_norms() -> Forms:
    """Read the norm of each gradient on the host, or leave the norms on the device."""

    def form(read: bool) -> Step:
        model = Network(blocks=2)
        norms: list[object] = []

        def keep(_: torch.Tensor) -> None:
            norms.clear()
            for parameter in model.parameters():
                assert parameter.grad is not None
                norm = parameter.grad.norm()
                norms.append(norm.item() if read else norm)

        return training(model, DEVICE, after_backward=keep, tokens=FEW)

    return Forms(form(True), form(False))


def synchronizes() -> Forms:
    """Wait for the device after each block, as who times blocks by hand, or never."""

    def form(wait: bool) -> Step:
        model = Network(blocks=4)
        for block in model.blocks:
            if wait:
                block.register_forward_hook(lambda *_: torch.accelerator.synchronize())
        return training(model, DEVICE, tokens=FEW)

    return Forms(form(True), form(False))


def counts_words() -> Forms:
    """Compute a metric over all words in Python, or none."""
    inputs, _ = words_and_targets("cpu")
    words = inputs.tolist()

    def metric(_: torch.Tensor) -> dict[int, int]:
        counts: dict[int, int] = {}
        for _round in range(4000):
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        return counts

    return Forms(
        training(Network(blocks=1), DEVICE, after_backward=metric, tokens=FEW),
        training(Network(blocks=1), DEVICE, tokens=FEW),
    )


def writes_a_log() -> Forms:
    """Write each step to a file and wait for the disk longer than the device works, or do not."""
    path = Path(tempfile.mkdtemp(), "log.jsonl")

    def form(logs: bool) -> Step:
        model = perceptron(96, 96, 8).to(DEVICE)
        inputs = torch.rand(96, 96).to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            for layer in range(10 if logs else 0):
                with path.open("a") as file:
                    file.write(json.dumps({"layer": layer, "rate": [0.1] * 200}) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
            scores: torch.Tensor = model(inputs)
            return scores

        return step

    return Forms(form(True), form(False))


def collects_garbage() -> Forms:
    """Collect garbage in every step, or leave it to Python."""
    kept = [[i] for i in range(400_000)]

    def collect(_: torch.Tensor) -> int:
        gc.unfreeze()
        return gc.collect() + len(kept)

    return Forms(
        training(Network(blocks=1), DEVICE, after_backward=collect),
        training(Network(blocks=1), DEVICE),
    )


def fills_on_the_host() -> Forms:
    """Make a mask on the host and copy it, or make it on the device."""

    def form(on_host: bool) -> Step:
        class Masked(Network):
            def forward(self, words: torch.Tensor) -> torch.Tensor:
                hidden = self.words(words)
                for block in self.blocks:
                    shape = hidden.shape
                    mask = (
                        torch.ones(shape).to(DEVICE)
                        if on_host
                        else torch.ones(shape, device=DEVICE)
                    )
                    hidden = block(hidden * mask)
                scores: torch.Tensor = self.head(hidden)
                return scores

        return inference(Masked(), DEVICE, FEW)

    return Forms(form(True), form(False))


def copies_wait() -> Forms:
    """Copy eight shards from pageable memory one by one, or each while the one before computes."""
    model = nn.Linear(1024, 64).to(DEVICE)
    shards = [torch.rand(128, 1024) for _ in range(8)]
    side = torch.refdev.Stream()

    @torch.no_grad()
    def waiting() -> torch.Tensor:
        done = torch.zeros(128, 64, device=DEVICE)
        for shard in shards:
            done += model(shard.to(DEVICE)).relu()
        return done

    def ahead(shard: torch.Tensor) -> torch.Tensor:
        with torch.refdev.stream(side):
            return shard.to(DEVICE, non_blocking=True)

    coming = [ahead(shards[0])]

    @torch.no_grad()
    def overlapping() -> torch.Tensor:
        done = torch.zeros(128, 64, device=DEVICE)
        own = torch.refdev.current_stream()
        for i in range(len(shards)):
            own.wait_stream(side)
            shard = coming.pop()
            side.wait_stream(own)
            coming.append(ahead(shards[(i + 1) % len(shards)]))
            done += model(shard).relu()
        return done

    return Forms(waiting, overlapping)


def selects_by_mask() -> Forms:
    """Sum rows selected by a mask, whose number the host must learn, or multiply by the mask."""

    def form(by_mask: bool) -> Step:
        class Selecting(Network):
            def forward(self, words: torch.Tensor) -> torch.Tensor:
                hidden = self.words(words)
                for block in self.blocks:
                    hidden = block(hidden)
                    mask = hidden[:, 0] > 0
                    chosen = hidden[mask].sum(0) if by_mask else mask.to(hidden.dtype) @ hidden
                    hidden = hidden + chosen * 1e-3
                scores: torch.Tensor = self.head(hidden)
                return scores

        return inference(Selecting(), DEVICE)

    return Forms(form(True), form(False))


def one_row_at_a_time() -> Forms:
    """Fill a result row by row, or at once."""

    def form(by_rows: bool) -> Step:
        model = Network(blocks=1).to(DEVICE)
        inputs, _ = words_and_targets(DEVICE)
        scale = torch.rand(TOKENS, 1).to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            scores: torch.Tensor = model(inputs)
            result = torch.empty_like(scores)
            if by_rows:
                for i in range(TOKENS):
                    result[i] = scores[i] * scale[i]
            else:
                result[:] = scores * scale
            return result

        return step

    return Forms(form(True), form(False))


def zeros_gradients() -> Forms:
    """Fill gradients with zeros, or drop them."""
    return Forms(
        training(Network(blocks=DEEP), DEVICE, to_none=False),
        training(Network(blocks=DEEP), DEVICE),
    )


def updates_one_by_one() -> Forms:
    """Update one parameter at a time, or all in one operator."""

    def form(fused: bool) -> Step:
        model = Network(blocks=DEEP).to(DEVICE)
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False, fused=fused)
        return training(model, DEVICE, optimizer=adam)

    return Forms(form(False), form(True))


def clips_one_by_one() -> Forms:
    """Clip each gradient in a Python loop that reads its norm, or none."""

    def form(clips: bool) -> Step:
        model = Network(blocks=DEEP).to(DEVICE)

        def clip(_: torch.Tensor) -> None:
            for parameter in model.parameters():
                assert parameter.grad is not None
                norm = parameter.grad.norm()
                if norm > 1.0:
                    parameter.grad.mul_(1.0 / norm)

        return training(model, DEVICE, after_backward=clip if clips else None)

    return Forms(form(True), form(False))


def loads_on_the_training_thread() -> Forms:
    """Wait for each sample on the training thread, or have it ready."""

    def form(seconds: float) -> Step:
        data = Pictures(64, seconds)
        loader = iter(torch.utils.data.DataLoader(data, batch_size=16))
        fixed = words_and_targets(DEVICE)

        def batch() -> tuple[torch.Tensor, torch.Tensor]:
            if seconds:
                next(loader)
            return fixed

        return training(Network(blocks=2), DEVICE, batch=batch)

    return Forms(form(1e-3), form(0))


def saves_often() -> Forms:
    """Save a checkpoint every second step, or never."""
    model = Network(blocks=2)
    file = Path(tempfile.mkdtemp(), "model.pt")
    count = 0

    def save(_: torch.Tensor) -> None:
        nonlocal count
        count += 1
        if count % 2 == 0:
            torch.save(model.state_dict(), file)

    return Forms(training(model, DEVICE, after_backward=save), training(Network(blocks=2), DEVICE))


def tiny_products() -> Forms:
    """Multiply each of many small groups alone, or all in one batched product."""
    groups, rows = 96, torch.rand(96, 8, 64).to(DEVICE)
    weights = torch.rand(96, 64, 64).to(DEVICE)

    @torch.no_grad()
    def alone() -> torch.Tensor:
        return torch.stack([rows[i] @ weights[i] for i in range(groups)])

    @torch.no_grad()
    def batched() -> torch.Tensor:
        return torch.bmm(rows, weights)

    return Forms(alone, batched)


PAIRS = (
    planted("norm_items", "`item()` on each norm", reads_norms),
    planted("synchronize", "a wait after each block", synchronizes),
    planted("python_metric", "a metric in Python", counts_words),
    planted("log_fsync", "a log file with fsync", writes_a_log),
    planted("collected", "gc.collect() in each step", collects_garbage),
    planted("mask_on_host", "masks made on the host", fills_on_the_host),
    planted("copies_wait", "copies that wait", copies_wait),
    planted("mask_selection", "rows selected by a mask", selects_by_mask),
    planted("row_loop", "a result filled row by row", one_row_at_a_time),
    planted("zero_grad", "gradients filled with zeros", zeros_gradients),
    planted("adam_loop", "one parameter at a time", updates_one_by_one),
    planted("clip_loop", "a norm read for each gradient", clips_one_by_one),
    planted("slow_loader", "samples read on the training thread", loads_on_the_training_thread),
    planted("checkpoints", "a checkpoint every second step", saves_often),
    planted("tiny_products", "96 small products", tiny_products),
)
