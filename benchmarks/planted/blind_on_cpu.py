"""Faults of programs without a device, planted by an author who has not read the rules."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrize
from torch.utils.data import DataLoader, Dataset, TensorDataset

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import training
from benchmarks.planted.tuned_on_host import DEVICE, Recommendation, Residual, network
from benchmarks.planted.two_ranks import on_two_ranks


def dense_gradients() -> Forms:
    """Update whole tables of embeddings for a few rows, or only these rows."""
    batch, tables, rows = 256, 4, 20_000
    dense, clicks = torch.rand(batch, 64), torch.randint(2, (batch,)).float()
    bags = torch.randint(rows, (tables, batch, 4))

    def form(is_sparse: bool) -> Step:
        model = Recommendation(tables, rows, 32, 64)
        for table in model.tables:
            assert isinstance(table, nn.EmbeddingBag)
            table.sparse = is_sparse
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)

        def step() -> None:
            sgd.zero_grad()
            functional.binary_cross_entropy_with_logits(model(dense, bags), clicks).backward()
            sgd.step()

        return step

    return Forms(form(False), form(True))


def frozen_in_optimizer() -> Forms:
    """Keep a frozen backbone out of the optimizer only, or out of the gradients as well."""
    pictures, labels = torch.rand(16, 32, 16, 16), torch.randint(10, (16,))

    def form(is_frozen: bool) -> Step:
        backbone = nn.Sequential(*(Residual(32) for _ in range(3))).eval()
        backbone.requires_grad_(not is_frozen)
        head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
        sgd = torch.optim.SGD(head.parameters(), lr=0.1, fused=True)

        def step() -> None:
            sgd.zero_grad()
            functional.cross_entropy(head(backbone(pictures)), labels).backward()
            sgd.step()

        return step

    return Forms(form(False), form(True))


def vocoder(is_normal: bool) -> nn.Sequential:
    """Return convolutions over time, whose weights have a norm of their own."""
    layers: list[nn.Module] = []
    for _ in range(6):
        convolution = nn.Conv1d(192, 192, 7, padding=3)
        normal = nn.utils.parametrizations.weight_norm(convolution)
        if not is_normal:
            parametrize.remove_parametrizations(normal, "weight")
        layers += [normal, nn.LeakyReLU(0.1)]
    return nn.Sequential(*layers).eval()


def kept_weight_norm() -> Forms:
    """Compute the normalized weights of a vocoder at each call, or once after the training."""
    frames = torch.rand(1, 192, 32)

    def form(is_normal: bool) -> Step:
        model = vocoder(is_normal)

        @torch.inference_mode()
        def step() -> torch.Tensor:
            sound: torch.Tensor = model(frames)
            return sound

        return step

    return Forms(form(True), form(False))


def sorted_vocabulary() -> Forms:
    """Sort all words to choose among the likely ones, or take the likely ones first."""
    words, width, sequences = 16_000, 96, 8
    embedding, cell = nn.Embedding(words, width), nn.GRUCell(width, width)
    scores, first = nn.Linear(width, words), torch.ones(sequences).long()

    def among(values: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        chances = functional.softmax(values, dim=-1)
        kept = chances.masked_fill(chances.cumsum(-1) - chances > 0.9, 0.0)
        return numbers.gather(1, torch.multinomial(kept, 1)).squeeze(1)

    def form(choose: Callable[[torch.Tensor], Any]) -> Step:
        @torch.inference_mode()
        def step() -> torch.Tensor:
            chosen, state = first, torch.zeros(sequences, width)
            for _ in range(4):
                state = cell(embedding(chosen), state)
                chosen = among(*choose(scores(state)))
            return chosen

        return step

    return Forms(
        form(lambda scores: scores.sort(dim=-1, descending=True)),
        form(lambda scores: scores.topk(100, dim=-1)),
    )


def attached_state() -> Forms:
    """Send the gradients of each window back to the first one, or stop at its begin."""
    windows, count, length, width = 6, 8, 16, 96
    inputs, targets = torch.rand(windows, length, count, width), torch.rand(windows, count, width)

    def form(detaches: bool) -> Step:
        memory = nn.GRU(width, width)
        adam = torch.optim.Adam(memory.parameters(), fused=True)

        def step() -> None:
            adam.zero_grad()
            state = torch.zeros(1, count, width)
            for window, target in zip(inputs, targets, strict=True):
                _, state = memory(window, state)
                functional.mse_loss(state[0], target).backward(retain_graph=not detaches)
                if detaches:
                    state = state.detach()
            adam.step()

        return step

    return Forms(form(False), form(True))


class Clicks(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Clicks in a file, a line of JSON each."""

    def __init__(self) -> None:
        one = {"features": [i / 7 for i in range(400)], "clicked": 1, "user": "someone"}
        self.lines = [json.dumps(one) for _ in range(64)]

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        record = json.loads(self.lines[index % len(self.lines)])
        return torch.tensor(record["features"]), torch.tensor(float(record["clicked"]))


def parsed_lines() -> Forms:
    """Parse the lines of a batch on the training thread, or have them as a tensor."""
    loader = iter(DataLoader(Clicks(), batch_size=48))
    ready = next(loader)

    def form(parses: bool) -> Step:
        model = nn.Sequential(nn.Linear(400, 384), network(384, 6), nn.Linear(10, 1), nn.Flatten(0))
        return training(
            model, DEVICE, loss=functional.binary_cross_entropy_with_logits,
            batch=lambda: tuple(next(loader) if parses else ready),
        )  # fmt: skip

    return Forms(form(True), form(False))


def workers_in_each_epoch() -> Forms:
    """Start a worker for each short epoch, or keep it."""
    data = TensorDataset(torch.rand(96, 256), torch.rand(96, 10))

    def form(keeps: bool) -> Step:
        model = network(256, 8)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
        loader: DataLoader[tuple[torch.Tensor, ...]] = DataLoader(
            data, batch_size=8, num_workers=1, prefetch_factor=8, persistent_workers=keeps
        )

        def step() -> None:
            for inputs, targets in loader:
                sgd.zero_grad()
                functional.mse_loss(model(inputs), targets).backward()
                sgd.step()

        return step

    return Forms(form(False), form(True))


def half_on_host() -> Forms:
    """Compute in float16, which this processor has no units for, or in float32."""

    def form(dtype: torch.dtype) -> Step:
        model = nn.Sequential(
            *(part for _ in range(4) for part in (nn.Linear(192, 192), nn.LayerNorm(192)))
        ).to(dtype)
        inputs = torch.rand(128, 192, dtype=dtype)

        @torch.inference_mode()
        def step() -> torch.Tensor:
            hidden: torch.Tensor = model(inputs)
            return hidden

        return step

    return Forms(form(torch.float16), form(torch.float32))


def accumulated() -> tuple[Step, ...]:
    """Return steps of one rank that average the gradients of each part, and of all."""
    parts = [(torch.rand(16, 384), torch.randint(10, (16,))) for _ in range(4)]

    def form(model: nn.parallel.DistributedDataParallel, waits: bool) -> Step:
        sgd = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)

        def step() -> None:
            sgd.zero_grad()
            for number, (inputs, targets) in enumerate(parts):
                apart = waits and number < len(parts) - 1
                with model.no_sync() if apart else contextlib.nullcontext():
                    functional.cross_entropy(model(inputs), targets).backward()
            sgd.step()

        return step

    def wrapped() -> nn.parallel.DistributedDataParallel:
        return nn.parallel.DistributedDataParallel(network(384, 6))

    return form(wrapped(), False), form(wrapped(), True)


def averaged_parts() -> Forms:
    """Average the gradients after each part of an accumulated batch, or after the last."""
    each, last = on_two_ranks(accumulated)
    return Forms(each, last)


def shares() -> tuple[Step, ...]:
    """Return steps of one rank with uneven shares of a batch, and with even ones."""
    rows = ((64, 512), (288, 288))

    def form(count: int) -> Step:
        model = nn.parallel.DistributedDataParallel(network(384, 6), gradient_as_bucket_view=True)
        inputs, targets = torch.rand(count, 384), torch.randint(10, (count,))
        return training(model, DEVICE, batch=lambda: (inputs, targets))

    return tuple(form(each[dist.get_rank()]) for each in rows)


def uneven_shares() -> Forms:
    """Give one rank eight times the rows of the other, or both the same."""
    uneven, even = on_two_ranks(shares)
    return Forms(uneven, even)


FAULTS: Final = (
    (dense_gradients, "whole tables updated for a few rows"),
    (frozen_in_optimizer, "gradients of a frozen backbone"),
    (kept_weight_norm, "weights normalized at each call"),
    (sorted_vocabulary, "all words sorted to choose one"),
    (attached_state, "gradients through all windows"),
    (parsed_lines, "lines parsed on the training thread"),
    (workers_in_each_epoch, "a worker started for each epoch"),
    (half_on_host, "float16 without units for it"),
    (averaged_parts, "gradients averaged for each part of a batch"),
    (uneven_shares, "ranks with uneven shares"),
)
PAIRS = tuple(planted(build.__name__, what, build, DEVICE) for build, what in FAULTS)
