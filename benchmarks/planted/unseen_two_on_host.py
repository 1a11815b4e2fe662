"""Faults on a processor as people report them in issues of libraries; written blind."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.planted.fault import planted


class ResidualStack(nn.Module):
    """Two convolutions of a vocoder, with normalized weights."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.dilated = weight_norm(
            nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation)
        )
        self.pointwise = weight_norm(nn.Conv1d(channels, channels, 1))

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        """Return the sound with what the stack adds."""
        inner = self.dilated(functional.leaky_relu(sound, 0.1))
        result: torch.Tensor = sound + self.pointwise(functional.leaky_relu(inner, 0.1))
        return result


class Vocoder(nn.Sequential):
    """Spectrograms to samples, by two upsamplings."""

    def __init__(self) -> None:
        super().__init__(
            weight_norm(nn.Conv1d(80, 256, 7, padding=3)),
            *(ResidualStack(256, 3**i) for i in range(3)),
            weight_norm(nn.ConvTranspose1d(256, 128, 16, stride=8, padding=4)),
            *(ResidualStack(128, 3**i) for i in range(3)),
            weight_norm(nn.ConvTranspose1d(128, 64, 8, stride=4, padding=2)),
            *(ResidualStack(64, 3**i) for i in range(3)),
            weight_norm(nn.Conv1d(64, 1, 7, padding=3)),
            nn.Tanh(),
        )

    def remove_weight_norm(self) -> None:
        """Keep the weights that the parametrizations give."""
        for module in self.modules():
            if parametrize.is_parametrized(module):
                parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)


def weight_norm_left_on() -> Forms:
    """Speak chunks with the weight norm of the training, or with folded weights.

    From NVIDIA/waveglow#21, vllm-omni#7871, transformers#42064.
    """

    def form(folds: bool) -> Step:
        vocoder = Vocoder().eval()
        if folds:
            vocoder.remove_weight_norm()
        chunks = itertools.cycle(torch.randn(6, 1, 80, 16))

        @torch.inference_mode()
        def step() -> torch.Tensor:
            samples: torch.Tensor = vocoder(next(chunks))
            return samples

        return step

    return Forms(form(False), form(True))


PAST, HORIZON = 96, 24


class Windows(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Windows of a series, one by one."""

    def __init__(self, series: np.ndarray) -> None:
        self.series = series

    def __len__(self) -> int:
        return len(self.series) - PAST - HORIZON

    def __getitem__(self, start: int) -> tuple[torch.Tensor, torch.Tensor]:
        middle = start + PAST
        past, future = self.series[start:middle], self.series[middle : middle + HORIZON, 0]
        return torch.tensor(past, dtype=torch.float32), torch.tensor(future, dtype=torch.float32)


class WindowBatches(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Windows of a series, a batch at a time."""

    def __init__(self, series: np.ndarray) -> None:
        values = torch.from_numpy(series).float()
        self.windows = values.unfold(0, PAST + HORIZON, 1).transpose(1, 2)

    def __len__(self) -> int:
        return len(self.windows) - 1

    def __getitem__(self, starts: Any) -> tuple[torch.Tensor, torch.Tensor]:
        windows = self.windows[starts]
        return windows[:, :PAST], windows[:, PAST:, 0]


def forever(loader: DataLoader[Any]) -> Iterator[Any]:
    """Return batches, epoch after epoch."""
    return itertools.chain.from_iterable(itertools.repeat(loader))


def windows_by_sample() -> Forms:
    """Cut windows out of a series one by one and stack them, or a batch at once.

    From the tutorials of sliding windows, and those of faster loaders for tensors in memory.
    """
    series = np.random.default_rng(0).standard_normal((30_000, 8)).cumsum(0) / 50

    def form(one_by_one: bool) -> Step:
        if one_by_one:
            loader: DataLoader[Any] = DataLoader(Windows(series), batch_size=256, shuffle=True)
        else:
            dataset = WindowBatches(series)
            sampler = BatchSampler(RandomSampler(dataset), 256, drop_last=False)
            loader = DataLoader(dataset, sampler=sampler, batch_size=None)
        model = nn.Sequential(
            nn.Flatten(), nn.Linear(PAST * 8, 512), nn.GELU(), nn.LayerNorm(512),
            nn.Linear(512, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, HORIZON),
        )  # fmt: skip
        adam, batches = torch.optim.AdamW(model.parameters(), fused=True), forever(loader)

        def step() -> None:
            past, future = next(batches)
            adam.zero_grad()
            functional.huber_loss(model(past), future).backward()
            adam.step()

        return step

    return Forms(form(True), form(False))


OBSERVED, HELD, DRAWN = 96, 4096, 128


class DequeMemory:
    """Transitions as they came."""

    def __init__(self) -> None:
        self.transitions: deque[tuple[Any, ...]] = deque(maxlen=HELD)

    def push(self, *transition: Any) -> None:
        """Keep a transition."""
        self.transitions.append(transition)

    def sample(self) -> tuple[torch.Tensor, ...]:
        """Return a batch."""
        states, actions, rewards, following = zip(
            *random.sample(self.transitions, DRAWN), strict=True
        )
        return (
            torch.tensor(states, dtype=torch.float32),
            torch.tensor(actions),
            torch.tensor(rewards, dtype=torch.float32),
            torch.tensor(following, dtype=torch.float32),
        )


class ArrayMemory:
    """Transitions in arrays as long as the memory."""

    def __init__(self) -> None:
        self.states = np.zeros((HELD, OBSERVED), np.float32)
        self.following = np.zeros((HELD, OBSERVED), np.float32)
        self.actions, self.rewards = np.zeros(HELD, np.int64), np.zeros(HELD, np.float32)
        self.count, self.random = 0, np.random.default_rng(0)

    def push(self, state: Any, action: int, reward: float, following: Any) -> None:
        """Keep a transition."""
        place = self.count % HELD
        self.states[place], self.following[place] = state, following
        self.actions[place], self.rewards[place] = action, reward
        self.count += 1

    def sample(self) -> tuple[torch.Tensor, ...]:
        """Return a batch."""
        chosen = self.random.integers(min(self.count, HELD), size=DRAWN)
        arrays = self.states, self.actions, self.rewards, self.following
        return tuple(torch.from_numpy(array[chosen]) for array in arrays)


def tensors_of_lists() -> Forms:
    """Train a value network from lists of arrays, or from rows of arrays.

    From pfnet/pfrl#189, ml-agents#5811, snake-ai-pytorch#26.
    """
    states = np.random.default_rng(0).standard_normal((HELD + 1, OBSERVED)).astype(np.float32)

    def network() -> nn.Sequential:
        return nn.Sequential(
            nn.Linear(OBSERVED, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 6)
        )

    def form(memory: DequeMemory | ArrayMemory) -> Step:
        for i in range(HELD):
            memory.push(states[i], i % 6, float(i % 3), states[i + 1])
        online, target = network(), network().requires_grad_(False)
        adam = torch.optim.Adam(online.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            now, actions, rewards, following = memory.sample()
            with torch.no_grad():
                wanted = rewards + 0.99 * target(following).amax(1)
            values = online(now).gather(1, actions.unsqueeze(1)).squeeze(1)
            adam.zero_grad()
            functional.smooth_l1_loss(values, wanted).backward()
            adam.step()

        return step

    return Forms(form(DequeMemory()), form(ArrayMemory()))


class NdcgByQuery:
    """The mean NDCG@10 of queries, each for itself."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def update(self, scores: torch.Tensor, grades: torch.Tensor) -> None:
        """Add queries: scores and grades of [queries, documents]."""
        for query in range(len(scores)):
            found = grades[query][scores[query].topk(10).indices]
            best = grades[query].topk(10).values
            places = torch.log2(torch.arange(10) + 2.0)
            gained = ((2**found - 1) / places).sum()
            possible = ((2**best - 1) / places).sum()
            self.total += float(gained / possible.clamp(min=1e-6))
        self.count += len(scores)


class NdcgOfBatch(NdcgByQuery):
    """The same, of all queries of a batch together."""

    def __init__(self) -> None:
        super().__init__()
        self.places = torch.log2(torch.arange(10) + 2.0)

    def update(self, scores: torch.Tensor, grades: torch.Tensor) -> None:
        """Add queries: scores and grades of [queries, documents]."""
        found = grades.gather(1, scores.topk(10, dim=1).indices)
        best = grades.topk(10, dim=1).values
        gained = ((2**found - 1) / self.places).sum(1)
        possible = ((2**best - 1) / self.places).sum(1).clamp(min=1e-6)
        self.total += float((gained / possible).sum())
        self.count += len(scores)


def gain_of_each_query() -> Forms:
    """Follow a ranker's NDCG query by query, or for the batch at once.

    From Lightning-AI/torchmetrics#2287, LibMultiLabel#342.
    """
    documents, grades = torch.randn(8, 48, 64, 136), torch.randint(5, (8, 48, 64)).float()

    def form(metric: NdcgByQuery) -> Step:
        ranker = nn.Sequential(
            nn.Linear(136, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)
        )
        adam = torch.optim.Adam(ranker.parameters(), fused=True)
        batches = itertools.cycle(zip(documents, grades, strict=True))

        def step() -> None:
            listed, wanted = next(batches)
            scores = ranker(listed).squeeze(2)
            loss = functional.cross_entropy(scores, wanted.softmax(1))
            adam.zero_grad()
            loss.backward()
            adam.step()
            metric.update(scores.detach(), wanted)

        return step

    return Forms(form(NdcgByQuery()), form(NdcgOfBatch()))


Miner = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


def mined_by_anchor(labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each anchor a positive and a negative, drawn one by one."""
    classes, numbers = labels.numpy(), np.arange(len(labels))
    positives, negatives = [], []
    draw = np.random.default_rng().choice
    for i, label in enumerate(classes):
        same = classes == label
        positives.append(draw(np.where(same & (numbers != i))[0]))
        negatives.append(draw(np.where(~same)[0]))
    return torch.tensor(np.array(positives)), torch.tensor(np.array(negatives))


def mined_at_once(labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each anchor a positive and a negative, the highest of random draws."""
    same = labels.unsqueeze(1) == labels
    draws = torch.rand(same.shape)
    positives = draws.masked_fill(~same, -1).fill_diagonal_(-1).argmax(1)
    return positives, draws.masked_fill(same, -1).argmax(1)


def triplets_by_anchor() -> Forms:
    """Draw triplets anchor by anchor, or for the batch at once.

    From pytorch-metric-learning#192 and #157, open-metric-learning#214.
    """
    all_labels, all_images = torch.randint(32, (8, 256)), torch.randn(8, 256, 768)

    def form(mine: Miner) -> Step:
        embed = nn.Sequential(nn.Linear(768, 512), nn.BatchNorm1d(512), nn.ReLU(),
                              nn.Linear(512, 128))  # fmt: skip
        sgd = torch.optim.SGD(embed.parameters(), lr=0.01, momentum=0.9, fused=True)
        batches = itertools.cycle(zip(all_images, all_labels, strict=True))

        def step() -> None:
            images, labels = next(batches)
            points = functional.normalize(embed(images), dim=1)
            positives, negatives = mine(labels)
            loss = functional.triplet_margin_loss(
                points, points.index_select(0, positives), points.index_select(0, negatives), 0.2
            )
            sgd.zero_grad()
            loss.backward()
            sgd.step()

        return step

    return Forms(form(mined_by_anchor), form(mined_at_once))


def _timed(pair: Pair) -> Pair:
    """Return the pair, timed by the process's own time."""
    return replace(pair, of_process=True)


PAIRS: Final = tuple(
    _timed(planted(build.__name__, what, build, "cpu"))
    for build, what in (
        (weight_norm_left_on, "weights normalized anew for each chunk of speech"),
        (windows_by_sample, "windows cut and stacked one by one"),
        (tensors_of_lists, "tensors made of lists of arrays"),
        (gain_of_each_query, "a ranking metric query by query"),
        (triplets_by_anchor, "triplets drawn anchor by anchor"),
    )
)
