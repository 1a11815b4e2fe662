"""Ordinary faults around a model on a processor: its data, its debugging and its metrics.

Written blind, from what people report in issues of libraries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional
from torch.nn.utils import convert_conv2d_weight_memory_format
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted

Click = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Clicks(Dataset[Click]):
    """A log of clicks in memory."""

    def __init__(self, count: int) -> None:
        self.numbers = torch.rand(count, 13)
        self.categories = torch.randint(400, (count, 8)) + 400 * torch.arange(8)
        self.clicked = torch.rand(count).round()

    def __len__(self) -> int:
        """Return how many clicks there are."""
        return len(self.clicked)

    def __getitem__(self, index: int | list[int]) -> Click:
        """Return a click, or a batch of them."""
        return self.numbers[index], self.categories[index], self.clicked[index]


class ClickModel(nn.Module):
    """Predicts clicks from numbers and embedded categories."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.categories = nn.Embedding(8 * 400, 8)
        self.perceptron = nn.Sequential(
            nn.Linear(13 + 8 * 8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 1),
        )  # fmt: skip

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        """Return a logit for each click."""
        features = torch.cat([numbers, self.categories(categories).flatten(1)], dim=1)
        logits: torch.Tensor = self.perceptron(features).squeeze(1)
        return logits


def endless(loader: DataLoader[Click]) -> Iterator[Click]:
    """Yield the batches of one epoch after the other."""
    while True:
        yield from loader


def rows_one_by_one() -> Forms:
    """Load a table that is in memory row by row, or by the indices of a batch.

    From pytorch#4959, pytorch#106704, DeepCTR-Torch#70 and fastai#3949.
    """
    clicks = Clicks(16384)

    def form(by_row: bool) -> Step:
        torch.manual_seed(0)
        sampler = RandomSampler(clicks, generator=torch.Generator().manual_seed(1))
        if by_row:
            loader = DataLoader(clicks, batch_size=512, sampler=sampler, drop_last=True)
        else:
            batches = BatchSampler(sampler, 512, drop_last=True)
            loader = DataLoader(clicks, batch_size=None, sampler=batches)
        model = ClickModel(256)
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
        data = endless(loader)

        def step() -> torch.Tensor:
            numbers, categories, clicked = next(data)
            loss = functional.binary_cross_entropy_with_logits(model(numbers, categories), clicked)
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


class Replay:
    """What a robot saw, did and gained, as the simulator returned it."""

    def __init__(self, count: int, width: int) -> None:
        random = np.random.default_rng(0)
        states = random.standard_normal((count + 1, width), dtype=np.float32)
        self.moves = [
            (states[i], int(random.integers(6)), float(random.random()), states[i + 1])
            for i in range(count)
        ]
        self.random = np.random.default_rng(1)

    def sample(self, count: int, stacked: bool) -> tuple[torch.Tensor, ...]:
        """Return states, actions, rewards and next states of some moves."""
        chosen = [self.moves[i] for i in self.random.integers(len(self.moves), size=count)]
        states, actions, rewards, following = zip(*chosen, strict=True)
        if stacked:
            seen, then = torch.from_numpy(np.stack(states)), torch.from_numpy(np.stack(following))
        else:
            seen = torch.tensor(states, dtype=torch.float32)
            then = torch.tensor(following, dtype=torch.float32)
        return seen, torch.tensor(actions), torch.tensor(rewards), then


def states_from_a_list() -> Forms:
    """Make a tensor of a list of arrays, or of the array that they are stacked to.

    From pytorch#13918, pfrl#189 and gluonts#1732, and torch's own warning.
    """

    def form(stacked: bool) -> Step:
        torch.manual_seed(0)
        replay = Replay(5000, 96)
        online, target = (
            nn.Sequential(
                nn.Linear(96, 320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(), nn.Linear(320, 6)
            )
            for _ in range(2)
        )
        target.load_state_dict(online.state_dict())
        adam = torch.optim.Adam(online.parameters(), lr=1e-4, fused=True)

        def step() -> torch.Tensor:
            seen, actions, rewards, then = replay.sample(192, stacked)
            with torch.no_grad():
                wanted = rewards + 0.99 * target(then).amax(1)
            found = online(seen).gather(1, actions.unsqueeze(1)).squeeze(1)
            loss = functional.smooth_l1_loss(found, wanted)
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


def debugging_left_on() -> Forms:
    """Train a network on Burgers' equation with autograd's anomaly mode left on, or off.

    From nerf-pytorch#42, lightning#12344 and #17359, and the tuning guide ("debugging APIs").
    """
    places, times = torch.rand(1280, 1) * 2 - 1, torch.rand(1280, 1)
    starts = torch.rand(256, 1) * 2 - 1
    at_start, waves = torch.cat([starts, torch.zeros(256, 1)], dim=1), -torch.sin(math.pi * starts)

    def form(debug: bool) -> Step:
        torch.manual_seed(0)
        field = nn.Sequential(
            nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
            nn.Linear(64, 1),
        )  # fmt: skip
        adam = torch.optim.Adam(field.parameters(), lr=1e-3, fused=True)

        def residual() -> torch.Tensor:
            x, t = places.clone().requires_grad_(), times.clone().requires_grad_()
            u = field(torch.cat([x, t], dim=1))
            u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
            (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
            return u_t + u * u_x - 0.01 / math.pi * u_xx

        def step() -> torch.Tensor:
            with torch.autograd.set_detect_anomaly(debug):
                start = functional.mse_loss(field(at_start), waves)
                loss = residual().square().mean() + start
                adam.zero_grad()
                loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


def sinc_kernel(old: int, new: int, zeros: int = 6) -> tuple[torch.Tensor, int]:
    """Return filters (new, 1, width) from one rate to another, and how far they reach."""
    base = min(old, new) * 0.99
    width = math.ceil(zeros * old / base)
    places = torch.arange(-width, width + old, dtype=torch.float64) / old
    shifts = torch.arange(0, -new, -1, dtype=torch.float64).unsqueeze(1) / new
    times = ((places + shifts) * base).clamp(-zeros, zeros)
    window = torch.cos(times * math.pi / zeros / 2).square()
    filters = torch.sinc(times) * window * (base / old)
    return filters.unsqueeze(1).float(), width


def resampled(
    sound: torch.Tensor, old: int, new: int, kernel: tuple[torch.Tensor, int] | None = None
) -> torch.Tensor:
    """Return a sound (clips, samples) at another rate. Both rates have no common divisor."""
    filters, width = kernel or sinc_kernel(old, new)
    padded = functional.pad(sound.unsqueeze(1), (width, width + old))
    found = functional.conv1d(padded, filters, stride=old)
    return found.transpose(1, 2).flatten(1)[:, : math.ceil(new * sound.shape[1] / old)]


def filters_made_each_time() -> Forms:
    """Make the filters that resample sounds for each request, or when the service starts.

    From torchaudio#1499 and lhotse#657.
    """
    old, new = 441, 160
    sounds = torch.randn(8, 22050)

    def form(ready: bool) -> Step:
        torch.manual_seed(0)
        kernel = sinc_kernel(old, new) if ready else None
        window = torch.hann_window(400)
        listener = nn.Sequential(
            nn.Conv1d(201, 160, 3, padding=1), nn.ReLU(),
            nn.Conv1d(160, 160, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(160, 160, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(160, 35),
        ).eval()  # fmt: skip

        @torch.inference_mode()
        def step() -> list[int]:
            sound = resampled(sounds, old, new, kernel)
            spectrum = torch.stft(sound, 400, 160, window=window, return_complex=True)
            words: list[int] = listener(spectrum.abs().log1p()).argmax(1).tolist()
            return words

        return step

    return Forms(form(False), form(True))


KINDS: Final = 19


def by_class(found: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return how well the classes overlap in (pictures, rows, columns), one after the other."""
    overlaps = []
    for here, there in zip(found, labels, strict=True):
        for kind in range(KINDS):
            as_found, as_labelled = here == kind, there == kind
            both = (as_found & as_labelled).sum().item()
            either = (as_found | as_labelled).sum().item()
            overlaps.append(both / max(either, 1))
    return torch.tensor(overlaps).view(-1, KINDS).mean(0)


def by_confusion(found: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return how well the classes overlap in (pictures, rows, columns), by one count of pairs."""
    pictures = torch.arange(len(found)).view(-1, 1, 1)
    pairs = (pictures * KINDS + labels) * KINDS + found
    count = torch.bincount(pairs.flatten(), minlength=len(found) * KINDS**2)
    confusion = count.view(-1, KINDS, KINDS)
    both = confusion.diagonal(dim1=1, dim2=2)
    either = confusion.sum(1) + confusion.sum(2) - both
    return (both / either.clamp(min=1)).mean(0)


def overlaps_by_class() -> Forms:
    """Measure how segmented streets overlap with their labels in loops, or by one count.

    From RSP#20, HoMM#5 and lightning#3050: metrics that take as long as the model.
    """
    streets = torch.rand(8, 96, 96, 3).permute(0, 3, 1, 2)
    labels = torch.randint(KINDS, (8, 96, 96))

    def form(apart: bool) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 24, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, 48, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(48), nn.ReLU(),
            nn.Conv2d(48, KINDS, 1), nn.Upsample(scale_factor=4, mode="bilinear"),
        ).eval()  # fmt: skip
        convert_conv2d_weight_memory_format(model, torch.channels_last)
        overlaps = by_class if apart else by_confusion

        @torch.inference_mode()
        def step() -> torch.Tensor:
            return overlaps(model(streets).argmax(1), labels)

        return step

    return Forms(form(True), form(False))


PAIRS: Final = tuple(
    replace(planted(build.__name__, what, build, "cpu"), of_process=True)
    for build, what in (
        (rows_one_by_one, "a table in memory, loaded row by row"),
        (states_from_a_list, "a tensor made of a list of arrays"),
        (debugging_left_on, "autograd's anomaly mode left on"),
        (filters_made_each_time, "filters for resampling made at each request"),
        (overlaps_by_class, "a metric by picture and class"),
    )
)
