"""Ordinary faults around a model, from what users report; by an author who knows no rule."""

from __future__ import annotations

import random
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import convert_conv2d_weight_memory_format
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, TensorDataset
from torch.utils.tensorboard import SummaryWriter

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted

FOLDER: Final = tempfile.TemporaryDirectory()
"""What the programs read and write, until the process ends."""

Batch = tuple[torch.Tensor, ...]


class Houses(Dataset[Batch]):
    """Houses and their prices, read from a table row by row."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def __len__(self) -> int:
        """Return how many houses there are."""
        return len(self.frame)

    def __getitem__(self, index: int) -> Batch:
        """Return what is known of a house, and its price."""
        row = self.frame.iloc[index].to_numpy()
        return torch.tensor(row[:-1]), torch.tensor(row[-1])


def endless(loader: DataLoader[Batch]) -> Iterator[Batch]:
    """Yield the batches of one epoch after the other."""
    while True:
        yield from loader


def prices_of_houses() -> Forms:
    """Read a table by ``iloc`` for each sample, or turn it into tensors once.

    From https://yuzhu.run/deep-learning-bottleneck and
    https://github.com/braindecode/braindecode/pull/89.
    """
    values = np.random.default_rng(0).normal(size=(4096, 33)).astype(np.float32)
    names = [f"feature_{number}" for number in range(32)]
    frame = pd.DataFrame(values, columns=[*names, "price"])

    def by_row() -> DataLoader[Batch]:
        houses = Houses(frame)
        order = RandomSampler(houses, generator=torch.Generator().manual_seed(0))
        return DataLoader(houses, batch_size=64, sampler=order)

    def at_once() -> DataLoader[Batch]:
        features, prices = frame[names].to_numpy(), frame["price"].to_numpy()
        houses = TensorDataset(torch.from_numpy(features), torch.from_numpy(prices))
        order = RandomSampler(houses, generator=torch.Generator().manual_seed(0))
        return DataLoader(houses, batch_size=None, sampler=BatchSampler(order, 64, False))

    def form(loader: DataLoader[Batch]) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
            nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1),
        )  # fmt: skip
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        data = endless(loader)

        def step() -> torch.Tensor:
            features, prices = next(data)
            adam.zero_grad()
            loss = functional.mse_loss(model(features).squeeze(1), prices)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(by_row()), form(at_once()))


Transition = tuple[np.ndarray, int, float, np.ndarray]


class Memory:
    """What an agent remembers, a tuple for each step of the game."""

    def __init__(self, capacity: int) -> None:
        self.steps: deque[Transition] = deque(maxlen=capacity)
        self.random = random.Random(0)

    def push(self, transition: Transition) -> None:
        """Remember a step."""
        self.steps.append(transition)

    def sample(self, count: int) -> tuple[torch.Tensor, ...]:
        """Return states, actions, rewards and next states."""
        states, actions, rewards, after = zip(*self.random.sample(self.steps, count), strict=True)
        return (
            torch.tensor(states), torch.tensor(actions),
            torch.tensor(rewards), torch.tensor(after),
        )  # fmt: skip


class Arrays:
    """What an agent remembers, in one tensor for each kind of thing."""

    def __init__(self, capacity: int, width: int) -> None:
        self.states, self.after = torch.empty(capacity, width), torch.empty(capacity, width)
        self.actions = torch.empty(capacity, dtype=torch.int64)
        self.rewards = torch.empty(capacity)
        self.count = 0
        self.random = random.Random(0)

    def push(self, transition: Transition) -> None:
        """Remember a step."""
        place = self.count % len(self.actions)
        state, self.actions[place], self.rewards[place], after = transition
        self.states[place] = torch.from_numpy(state)
        self.after[place] = torch.from_numpy(after)
        self.count += 1

    def sample(self, count: int) -> tuple[torch.Tensor, ...]:
        """Return states, actions, rewards and next states."""
        wanted = torch.tensor(self.random.sample(range(len(self.actions)), count))
        return self.states[wanted], self.actions[wanted], self.rewards[wanted], self.after[wanted]


def game_remembered() -> Forms:
    """Sample tuples of arrays and join them to tensors, or index tensors kept for it.

    From https://github.com/patrickloeber/snake-ai-pytorch/issues/26,
    https://github.com/pfnet/pfrl/issues/189 and https://github.com/facebook/Ax/pull/4798.
    """
    rng = np.random.default_rng(0)
    states = rng.normal(size=(1025, 96)).astype(np.float32)
    game = [(states[i], i % 6, float(i % 7 == 0), states[i + 1]) for i in range(1024)]

    def form(memory: Memory | Arrays) -> Step:
        torch.manual_seed(0)
        for transition in game:
            memory.push(transition)
        policy, target = (
            nn.Sequential(
                nn.Linear(96, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 6)
            )
            for _ in range(2)
        )
        target.load_state_dict(policy.state_dict())
        adam = torch.optim.Adam(policy.parameters(), lr=1e-3, fused=True)

        def step() -> torch.Tensor:
            before, actions, rewards, after = memory.sample(64)
            with torch.no_grad():
                best = rewards + 0.99 * target(after).amax(1)
            value = policy(before).gather(1, actions[:, None]).squeeze(1)
            loss = functional.smooth_l1_loss(value, best)
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(Memory(1024)), form(Arrays(1024, 96)))


class Utterances(Dataset[Batch]):
    """Random crops of spectrograms in files, and who speaks."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self.rng = np.random.default_rng(0)

    def __len__(self) -> int:
        """Return how many files there are."""
        return len(self.paths)

    def read(self, index: int) -> np.ndarray:
        """Return the spectrogram in a file."""
        spectrogram: np.ndarray = np.load(self.paths[index])
        return spectrogram

    def __getitem__(self, index: int) -> Batch:
        """Return a crop and its speaker."""
        frames = self.read(index)
        start = self.rng.integers(len(frames) - 96)
        return torch.from_numpy(frames[start : start + 96].T.copy()), torch.tensor(index % 8)


class MappedUtterances(Utterances):
    """The same, of files mapped into memory."""

    def __init__(self, paths: list[Path]) -> None:
        super().__init__(paths)
        self.files = [np.load(path, mmap_mode="r") for path in paths]

    def read(self, index: int) -> np.ndarray:
        """Return the spectrogram in a file, not read yet."""
        return self.files[index]


def speakers_of_crops() -> Forms:
    """Read a whole file for a short crop of it, or read the crop from a mapped file.

    From https://github.com/kitzeslab/opensoundscape/issues/403,
    https://github.com/WhisperSpeech/WhisperSpeech/pull/79 and
    https://github.com/open-mmlab/mmskeleton/pull/39.
    """
    rng = np.random.default_rng(0)
    paths = [Path(FOLDER.name) / f"{number:03}.npy" for number in range(48)]
    for path in paths:
        np.save(path, rng.normal(size=(3000, 80)).astype(np.float32))

    def form(utterances: Utterances) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv1d(80, 128, 5, stride=2), nn.BatchNorm1d(128), nn.ReLU(),
            nn.Conv1d(128, 128, 3, stride=2), nn.BatchNorm1d(128), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(128, 8),
        )  # fmt: skip
        sgd = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, fused=True)
        data = endless(DataLoader(utterances, batch_size=16))

        def step() -> torch.Tensor:
            crops, speakers = next(data)
            sgd.zero_grad()
            loss = functional.cross_entropy(model(crops), speakers)
            loss.backward()
            sgd.step()
            return loss.detach()

        return step

    return Forms(form(Utterances(paths)), form(MappedUtterances(paths)))


CLASSES: Final = 19
Measure = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def iou(labels: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Return the intersection over union of each class."""
    found = []
    for kind in range(CLASSES):
        here, there = labels == kind, truth == kind
        intersection = (here & there).sum().item()
        union = here.sum().item() + there.sum().item() - intersection
        found.append(intersection / union if union else float("nan"))
    return torch.tensor(found)


def iou_of_counts(labels: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Return the intersection over union of each class, from a matrix of counts."""
    pairs = torch.bincount((truth * CLASSES + labels).flatten(), minlength=CLASSES**2)
    counts = pairs.view(CLASSES, CLASSES)
    same = counts.diagonal()
    return same / (counts.sum(0) + counts.sum(1) - same)


def streets_evaluated() -> Forms:
    """Count the pixels of each class by comparisons in a loop, or of all classes at once.

    From https://github.com/meetps/pytorch-semseg/issues/199,
    https://github.com/nicolov/segmentation_keras/issues/28 and
    https://github.com/open-mmlab/mmaction2/pull/465.
    """
    torch.manual_seed(0)
    streets = torch.rand(8, 3, 96, 96)
    truth = torch.randint(CLASSES, (8, 96, 96))
    model = nn.Sequential(
        nn.Conv2d(3, 24, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, CLASSES, 1),
    ).eval()  # fmt: skip
    convert_conv2d_weight_memory_format(model, torch.channels_last)

    def form(measure: Measure) -> Step:
        @torch.inference_mode()
        def step() -> torch.Tensor:
            scores = functional.interpolate(model(streets), scale_factor=2, mode="nearest")
            return measure(scores.argmax(1), truth)

        return step

    return Forms(form(iou), form(iou_of_counts))


def reviews_logged() -> Forms:
    """Write histograms of all weights at every step, or at one of a hundred.

    From https://github.com/ibab/tensorflow-wavenet/issues/116,
    https://github.com/sherjilozair/char-rnn-tensorflow/issues/112 and
    https://github.com/mozilla/DeepSpeech/issues/1968.
    """
    reviews, stars = torch.randint(1000, (32, 64)), torch.randint(5, (32,))

    def form(every: int) -> Step:
        torch.manual_seed(0)
        words = nn.Embedding(1000, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
        model = nn.ModuleList([words, nn.TransformerEncoder(layer, 2), nn.Linear(64, 5)])
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        writer = SummaryWriter(f"{FOLDER.name}/{every}")
        number = 0

        def step() -> torch.Tensor:
            nonlocal number
            adam.zero_grad()
            hidden = reviews
            for part in model[:2]:
                hidden = part(hidden)
            loss = functional.cross_entropy(model[2](hidden.mean(1)), stars)
            loss.backward()
            adam.step()
            if number % every == 0:
                writer.add_scalar("loss", loss.item(), number)
                for name, weight in model.named_parameters():
                    writer.add_histogram(name, weight, number)
            number += 1
            return loss.detach()

        return step

    return Forms(form(1), form(100))


PAIRS: Final = (
    planted("prices_of_houses", "tensors instead of rows of a table", prices_of_houses, "cpu"),
    planted("game_remembered", "tensors that are indexed", game_remembered, "cpu"),
    planted("speakers_of_crops", "crops of mapped files", speakers_of_crops, "cpu"),
    planted("streets_evaluated", "counts of all classes at once", streets_evaluated, "cpu"),
    planted("reviews_logged", "histograms at one step of a hundred", reviews_logged, "cpu"),
)
