"""Ordinary faults of training scripts on a processor, by an author who knew no rule's code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted

Batch = tuple[torch.Tensor, torch.Tensor]


class Houses(Dataset[Batch]):
    """A table in memory: a row by a number, or rows by a list of numbers."""

    def __init__(self, rows: int, columns: int) -> None:
        self.features, self.prices = torch.randn(rows, columns), torch.rand(rows, 1)

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: int | list[int]) -> Batch:
        return self.features[index], self.prices[index]


def rows_through_loader() -> Forms:
    """Fetch a table's rows one by one and stack them, or index a batch of them at once."""
    houses, rows = Houses(16_384, 48), 512

    def endless(loader: DataLoader[Batch]) -> Iterator[Batch]:
        while True:
            yield from loader

    def train_on(loader: DataLoader[Batch]) -> Step:
        regressor = nn.Sequential(
            nn.Linear(48, 384), nn.SiLU(), nn.Linear(384, 384), nn.SiLU(), nn.Linear(384, 1)
        )
        adam = torch.optim.AdamW(regressor.parameters(), lr=1e-3, fused=True)
        batches = endless(loader)

        def step() -> None:
            features, prices = next(batches)
            adam.zero_grad()
            functional.smooth_l1_loss(regressor(features), prices).backward()
            adam.step()

        return step

    at_once = BatchSampler(RandomSampler(houses), rows, drop_last=True)
    return Forms(
        train_on(DataLoader(houses, batch_size=rows, shuffle=True, drop_last=True)),
        train_on(DataLoader(houses, sampler=at_once, batch_size=None)),
    )


class TextClassifier(nn.Module):
    """A small encoder whose states are averaged over the words that are there."""

    def __init__(self, words: int = 2000, width: int = 128, limit: int = 128) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(limit, width)
        layer = nn.TransformerEncoderLayer(width, 4, 384, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 6)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return scores for token numbers (texts, places); 0 is padding."""
        absent = tokens == 0
        states = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        states = self.encoder(states, src_key_padding_mask=absent)
        present = (~absent).unsqueeze(-1).float()
        scores: torch.Tensor = self.head((states * present).sum(1) / present.sum(1))
        return scores


def padded_to_limit() -> Forms:
    """Pad each batch of texts to the model's limit, or to its own longest text."""
    limit, number = 128, itertools.count()
    lengths = torch.randint(12, 84, (10, 8)).tolist()
    batches = [[torch.randint(1, 2000, (each,)) for each in some] for some in lengths]
    topics = torch.randint(6, (8,))

    def to_limit(texts: list[torch.Tensor]) -> torch.Tensor:
        return torch.stack([functional.pad(text, (0, limit - len(text))) for text in texts])

    def to_longest(texts: list[torch.Tensor]) -> torch.Tensor:
        return pad_sequence(texts, batch_first=True)

    def fine_tune(longest: bool) -> Step:
        model, collate = TextClassifier(), to_longest if longest else to_limit
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=True)

        def step() -> None:
            tokens = collate(batches[next(number) // 2 % len(batches)])
            loss = functional.cross_entropy(model(tokens), topics)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        return step

    return Forms(fine_tune(False), fine_tune(True))


Rollout = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def by_element(rollout: Rollout, gamma: float = 0.99, trace: float = 0.95) -> torch.Tensor:
    """Return advantages (times, environments), for each environment and time by itself."""
    rewards, values, going_on = rollout
    advantages = torch.zeros_like(rewards)
    for environment in range(rewards.shape[1]):
        last = torch.tensor(0.0)
        for t in reversed(range(len(rewards))):
            alive = going_on[t, environment]
            surprise = (
                rewards[t, environment]
                + gamma * values[t + 1, environment] * alive
                - values[t, environment]
            )
            last = surprise + gamma * trace * alive * last
            advantages[t, environment] = last
    return advantages


def by_time(rollout: Rollout, gamma: float = 0.99, trace: float = 0.95) -> torch.Tensor:
    """Return advantages (times, environments), for all environments of a time together."""
    rewards, values, going_on = rollout
    surprises = rewards + gamma * values[1:] * going_on - values[:-1]
    keep, last, found = gamma * trace * going_on, torch.zeros_like(rewards[0]), []
    for t in reversed(range(len(rewards))):
        last = torch.addcmul(surprises[t], keep[t], last)
        found.append(last)
    return torch.stack(found[::-1])


def advantages_by_element() -> Forms:
    """Compute the advantages of a policy's rollout by scalars, or by vectors of environments."""
    times, environments, actions = 64, 6, 5
    seen = torch.randn(times, environments, 24)
    chosen = torch.randint(actions, (times * environments, 1))
    rewards = torch.rand(times, environments)
    going_on = (torch.rand(times, environments) > 0.02).float()

    def update(vectors: bool) -> Step:
        trunk = nn.Sequential(nn.Linear(24, 224), nn.Tanh(), nn.Linear(224, 224), nn.Tanh())
        actor, critic = nn.Linear(224, actions), nn.Linear(224, 1)
        learned = nn.ModuleList((trunk, actor, critic)).parameters()
        optimizer = torch.optim.Adam(learned, lr=3e-4, fused=True)

        def step() -> None:
            with torch.no_grad():
                hidden = trunk(seen)
                values = critic(hidden).squeeze(-1)
                before = actor(hidden).log_softmax(-1).flatten(0, 1).gather(1, chosen)
                rollout = rewards, torch.cat((values, values[-1:])), going_on
                gains = by_time(rollout) if vectors else by_element(rollout)
                returns = (gains + values).flatten()
                weights = functional.layer_norm(gains.flatten(), (gains.numel(),)).unsqueeze(1)
            for _ in range(3):
                hidden = trunk(seen.flatten(0, 1))
                logs = actor(hidden).log_softmax(-1)
                ratio = (logs.gather(1, chosen) - before).exp()
                policy = torch.minimum(ratio * weights, ratio.clamp(0.8, 1.2) * weights).mean()
                loss = functional.mse_loss(critic(hidden).squeeze(-1), returns) - policy
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        return step

    return Forms(update(False), update(True))


def checked_gradients() -> Forms:
    """Search each gradient for values that are not finite, or ask the clipped norm alone."""
    pictures = torch.rand(48, 784)

    def form(searches: bool) -> Step:
        widths = (784, 768, 512, 64, 512, 768, 784)
        layers = [
            layer for pair in itertools.pairwise(widths) for layer in (nn.Linear(*pair), nn.ELU())
        ]
        autoencoder = nn.Sequential(*layers[:-1], nn.Sigmoid())
        adam = torch.optim.Adam(autoencoder.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            adam.zero_grad()
            functional.binary_cross_entropy(autoencoder(pictures), pictures).backward()
            if searches:
                for name, parameter in autoencoder.named_parameters():
                    gradient = parameter.grad
                    assert gradient is not None
                    if torch.isnan(gradient).any() or torch.isinf(gradient).any():
                        raise FloatingPointError(name)
            clip_grad_norm_(autoencoder.parameters(), 1.0, error_if_nonfinite=True)
            adam.step()

        return step

    return Forms(form(True), form(False))


class NextWord(nn.Module):
    """A recurrent language model."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.recurrent = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Return the loss of each text's (texts, places) next words."""
        states, _ = self.recurrent(self.words(text[:, :-1]))
        return functional.cross_entropy(self.head(states).flatten(0, 1), text[:, 1:].flatten())


def validated_each_step() -> Forms:
    """Validate a language model after every step, or after every thousandth."""
    text, held_out = torch.randint(1200, (12, 33)), torch.randint(1200, (2, 12, 33))

    def training(every: int) -> Step:
        model, done, best = NextWord(1200, 192), itertools.count(1), float("inf")
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def validate() -> float:
            model.eval()
            with torch.no_grad():
                losses = [model(batch).item() for batch in held_out]
            model.train()
            return sum(losses) / len(losses)

        def step() -> None:
            nonlocal best
            loss = model(text)
            loss.backward()
            adam.step()
            adam.zero_grad()
            if next(done) % every == 0:
                best = min(best, validate())

        return step

    return Forms(training(1), training(1000))


PAIRS: Final = tuple(
    replace(planted(build.__name__, what, build, "cpu"), of_process=True)
    for build, what in (
        (rows_through_loader, "rows of a table, fetched one by one"),
        (padded_to_limit, "texts padded to the model's limit"),
        (advantages_by_element, "advantages computed by scalars"),
        (checked_gradients, "each gradient searched for infinities"),
        (validated_each_step, "validation after each step"),
    )
)
