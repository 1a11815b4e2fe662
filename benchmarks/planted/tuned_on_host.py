"""Tuned programs of CPU torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from benchmarks.pairs.pair import Pair, Step
from benchmarks.planted.fault import tuned
from benchmarks.planted.programs import training
from benchmarks.planted.two_ranks import on_two_ranks

DEVICE: Final = "cpu"


class Decoded(Dataset[tuple[torch.Tensor, int]]):
    """Pictures that a worker decodes and scales."""

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        pixels = torch.frombuffer(bytearray(3 * 32 * 32), dtype=torch.uint8)
        return pixels.view(3, 32, 32).float().sub(0.5), index % 10


class Residual(nn.Module):
    """Two convolutions around which the input passes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner, self.outer = (
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))
            for _ in range(2)
        )

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the pixels with what the convolutions add."""
        return functional.relu(
            pixels + self.outer(functional.relu(self.inner(pixels), inplace=True)), inplace=True
        )


def channels_last(model: nn.Module) -> None:
    """Store the weights as convolutions read them."""
    change: Any = model.to  # its types do not know this argument
    change(memory_format=torch.channels_last)


def pictures() -> Step:
    """Return training of a residual network from a data loader with a worker."""
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(64),
        nn.ReLU(inplace=True), Residual(64), Residual(64), Residual(64), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    channels_last(model)
    loader = DataLoader(
        Decoded(), batch_size=32, num_workers=1, prefetch_factor=4, persistent_workers=True,
        multiprocessing_context="spawn",
    )  # fmt: skip
    batches = iter(loader)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        pixels, labels = next(batches)
        return pixels.contiguous(memory_format=torch.channels_last), labels

    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    return training(model, DEVICE, batch=batch, optimizer=sgd)


class Recommendation(nn.Module):
    """Clicks from dense features and bags of categories."""

    def __init__(self, tables: int, rows: int, width: int, dense: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(rows, width, mode="sum", sparse=True) for _ in range(tables)
        )
        self.dense = nn.Sequential(nn.Linear(dense, 128), nn.ReLU(), nn.Linear(128, width))
        self.top = nn.Sequential(
            nn.Linear(width * (tables + 1), 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
            nn.Linear(256, 1),
        )  # fmt: skip

    def forward(self, dense: torch.Tensor, bags: torch.Tensor) -> torch.Tensor:
        """Return how likely a click is, as a logit."""
        found = [table(bag) for table, bag in zip(self.tables, bags.unbind(0), strict=True)]
        logits: torch.Tensor = self.top(torch.cat([self.dense(dense), *found], dim=1))
        return logits.squeeze(1)


def recommendation() -> Step:
    """Return training with embedding bags, whose gradients are sparse."""
    batch, tables, rows = 512, 4, 20_000
    dense, clicks = torch.rand(batch, 64), torch.randint(2, (batch,)).float()
    bags = torch.randint(rows, (tables, batch, 8))
    model = Recommendation(tables, rows, 32, 64)
    sparse = torch.optim.SGD(model.tables.parameters(), lr=0.1)
    others = [*model.dense.parameters(), *model.top.parameters()]
    adam = torch.optim.Adam(others, fused=True)

    def step() -> None:
        sparse.zero_grad()
        adam.zero_grad()
        functional.binary_cross_entropy_with_logits(model(dense, bags), clicks).backward()
        sparse.step()
        adam.step()

    return step


class Tagger(nn.Module):
    """A tag for each word of a sequence."""

    def __init__(self, words: int, width: int, tags: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.memory = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.tags = nn.Linear(width, tags)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return a score for each tag, flat over sequences and words."""
        hidden, _ = self.memory(self.words(words))
        scores: torch.Tensor = self.tags(hidden)
        return scores.flatten(0, 1)


def tagging() -> Step:
    """Return inference of an LSTM, whose time steps are in one operator."""
    model, words = Tagger(2000, 192, 16).eval(), torch.randint(2000, (32, 40))

    @torch.inference_mode()
    def step() -> torch.Tensor:
        return model(words).argmax(dim=-1)

    return step


def block(inputs: int, outputs: int) -> nn.Sequential:
    """Return a convolution with its normalization and activation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.GroupNorm(8, outputs), nn.SiLU()
    )


class Denoiser(nn.Module):
    """A network that takes noise from a picture: down, up, and across."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.time = nn.Embedding(1000, 2 * width)
        self.before, self.down = block(3, width), block(width, 2 * width)
        self.middle, self.up = block(2 * width, 2 * width), block(3 * width, width)
        self.after = nn.Conv2d(width, 3, 1)

    def forward(self, inputs: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the noise of pictures at a time each."""
        pixels, time = inputs
        wide = self.before(pixels)
        low = self.middle(
            self.down(functional.avg_pool2d(wide, 2)) + self.time(time)[..., None, None]
        )
        across = torch.cat([wide, functional.interpolate(low, scale_factor=2.0)], dim=1)
        noise: torch.Tensor = self.after(self.up(across))
        return noise


def diffusion() -> Step:
    """Return training of a denoiser of pictures."""
    batch, side = 8, 32
    model = Denoiser(32)
    channels_last(model)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    clean = torch.rand(batch, 3, side, side).contiguous(memory_format=torch.channels_last)
    rates = torch.linspace(1.0, 0.0, 1000)

    def noisy() -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
        time, noise = torch.randint(1000, (batch,)), torch.randn_like(clean)
        share = rates[time][:, None, None, None]
        return (torch.lerp(noise, clean, share), time), noise

    return training(model, DEVICE, loss=functional.mse_loss, batch=noisy, optimizer=adam)


def compiled() -> Step:
    """Return training of a compiled network."""
    layers = [
        part for _ in range(4) for part in (nn.LayerNorm(256), nn.Linear(256, 256), nn.GELU())
    ]
    model: Any = torch.compile(nn.Sequential(*layers, nn.Linear(256, 32)))
    inputs, targets = torch.rand(512, 256), torch.randint(32, (512,))
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    return training(model, DEVICE, batch=lambda: (inputs, targets), optimizer=adam)


def network(width: int, count: int) -> nn.Sequential:
    """Return a network of wide layers."""
    layers = [part for _ in range(count) for part in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def distributed() -> tuple[Step, ...]:
    """Return training of one rank, whose gradients are averaged during the backward pass."""
    model = nn.parallel.DistributedDataParallel(network(512, 4), gradient_as_bucket_view=True)
    inputs, targets = torch.rand(256, 512), torch.randint(10, (256,))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    return (training(model, DEVICE, batch=lambda: (inputs, targets), optimizer=sgd),)


def two_ranks() -> Step:
    """Return training of two processes that average their gradients in buckets."""
    (step,) = on_two_ranks(distributed)
    return step


_PROGRAMS: tuple[tuple[Callable[[], Step], str], ...] = (
    (pictures, "training of a residual network, with a data loader's worker"),
    (recommendation, "training of a recommendation with embedding bags"),
    (tagging, "an LSTM that tags words"),
    (diffusion, "training of a denoiser of pictures"),
    (compiled, "training of a compiled network"),
    (two_ranks, "training on two ranks with DistributedDataParallel"),
)

PAIRS: tuple[Pair, ...] = tuple(tuned(build, what, DEVICE) for build, what in _PROGRAMS)
