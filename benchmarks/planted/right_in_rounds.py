"""Right programs of CPU torch in rounds: inference, search, simulation, games, one sample each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import FULL, SHAPES, RightProgram
from benchmarks.planted.right_on_host import perceptron

HOST: Final = "cpu"


def neighbors() -> Step:
    """Return classes by the votes of the nearest vectors of a bank."""
    bank, classes = functional.normalize(torch.rand(8192, 64), dim=1), torch.randint(10, (8192,))
    queries = functional.normalize(torch.rand(4, 64, 64), dim=-1)
    number = 0

    @torch.inference_mode()
    def step() -> torch.Tensor:
        nonlocal number
        number += 1
        nearness, rows = (queries[number % 4] @ bank.T).topk(20, dim=1)
        votes = torch.zeros(64, 10).scatter_add_(1, classes[rows], (nearness / 0.1).exp())
        return votes.argmax(dim=1)

    return step


def whole_numbers() -> Step:
    """Return inference with weights of eight bits."""
    model = perceptron(512, 1024, 1024, 1024, 100).eval()
    narrow: Any = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    inputs = torch.rand(64, 512)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        classes: torch.Tensor = narrow(inputs).argmax(dim=-1)
        return classes

    return step


class Pendulums:
    """A batch of environments on the host, all moved by one call."""

    def __init__(self, count: int) -> None:
        self.random = np.random.default_rng(0)
        self.states = self.random.random((count, 4), dtype=np.float32)

    def move(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the next states and their rewards."""
        push = actions.astype(np.float32)[:, None] - 0.5
        self.states = np.clip(self.states + 0.02 * push * np.sin(self.states), -1, 1)
        return self.states, -np.abs(self.states[:, 0])


def played_out() -> Step:
    """Return a policy that plays 16 rounds with its environments and learns from them."""
    model = perceptron(4, 256, 256, 3)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    games = Pendulums(64)
    states = games.states

    def step() -> None:
        nonlocal states
        seen, taken, rewards = [], [], []
        with torch.no_grad():
            for _ in range(16):
                inputs = torch.from_numpy(states)
                chances = functional.softmax(model(inputs)[:, :2], dim=-1)
                actions = torch.multinomial(chances, 1).squeeze(1)
                states, reward = games.move(actions.numpy())
                seen.append(inputs)
                taken.append(actions)
                rewards.append(torch.from_numpy(reward))
        returns = torch.stack(rewards).flip(0).cumsum(0).flip(0).flatten()
        both = model(torch.cat(seen))
        advantages = returns - both[:, 2]
        loss = functional.cross_entropy(both[:, :2], torch.cat(taken), reduction="none")
        adam.zero_grad()
        ((loss * advantages.detach()).mean() + advantages.square().mean()).backward()
        adam.step()

    return step


def orbits() -> Step:
    """Return the motion of bodies that attract each other, by small steps."""
    places, speeds = torch.rand(256, 3), torch.zeros(256, 3)

    def pulls(at: torch.Tensor) -> torch.Tensor:
        strength = torch.cdist(at, at).add_(0.05).pow_(-3)
        return strength @ at - strength.sum(dim=1, keepdim=True) * at

    @torch.inference_mode()
    def step() -> None:
        now = pulls(places)
        for _ in range(12):
            speeds.add_(now, alpha=5e-7)
            places.add_(speeds, alpha=1e-3)
            now = pulls(places)
            speeds.add_(now, alpha=5e-7)

    return step


def evaluation() -> Step:
    """Return the scores of a model on held-out data, counted without reading each batch."""
    model = perceptron(256, 768, 768, 16).eval()
    inputs, labels = torch.rand(6, 128, 256), torch.randint(16, (6, 128))

    @torch.inference_mode()
    def step() -> tuple[float, list[int]]:
        right, table = torch.zeros(()), torch.zeros(256, dtype=torch.int64)
        for pixels, targets in zip(inputs, labels, strict=True):
            found = model(pixels).argmax(dim=-1)
            right += (found == targets).sum()
            table += torch.bincount(targets * 16 + found, minlength=256)
        return right.item() / labels.numel(), table.tolist()

    return step


def one_by_one() -> Step:
    """Return learning online: each sample is scored by what all before it taught, then learned."""
    model = perceptron(64, 256, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    stream, goals = torch.rand(512, 1, 64), torch.rand(512, 1, 1)
    number = 0

    def step() -> None:
        nonlocal number
        for _ in range(8):
            sample, goal = stream[number % 512], goals[number % 512]
            number += 1
            loss = functional.mse_loss(model(sample), goal)
            sgd.zero_grad()
            loss.backward()
            sgd.step()

    return step


class Speaker(nn.Module):
    """Words by a recurrent cell."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words, self.cell = nn.Embedding(words, width), nn.GRUCell(width, width)
        self.head = nn.Linear(width, words)

    def forward(self, said: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the chances of the next words, and the state behind them."""
        state = self.cell(self.words(said), state)
        return functional.log_softmax(self.head(state), dim=-1), state


def beams() -> Step:
    """Return a search for the most likely text, with eight beams for each of 16 sources."""
    words, width, count, sources, length = 800, 256, 8, 16, 10
    model = Speaker(words, width).eval()
    first = torch.rand(sources * count, width)
    base = torch.arange(0, sources * count, count).unsqueeze(1)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        state, said = first, torch.zeros(sources * count, dtype=torch.int64)
        scores = torch.full((sources, count), -1e9)
        scores[:, 0] = 0
        text = torch.empty(sources * count, length, dtype=torch.int64)
        for place in range(length):
            chances, state = model(said, state)
            total = scores.unsqueeze(-1) + chances.view(sources, count, words)
            scores, best = total.flatten(1).topk(count, dim=1)
            rows = (base + best // words).flatten()
            said = (best % words).flatten()
            state, text = state[rows], text[rows]
            text[:, place] = said
        return text.view(sources, count, length)[:, 0]

    return step


PROGRAMS: tuple[RightProgram, ...] = tuple(
    RightProgram(build.__name__, what, HOST, build, record)
    for build, what, record in (
        (neighbors, "classes by nearest neighbors", SHAPES),
        (whole_numbers, "inference with weights of eight bits", FULL),
        (played_out, "a policy that plays on the host", FULL),
        (orbits, "bodies that attract each other", SHAPES),
        (evaluation, "scores of held-out data", FULL),
        (one_by_one, "learning online, sample by sample", FULL),
        (beams, "a search with beams", FULL),
    )
)
