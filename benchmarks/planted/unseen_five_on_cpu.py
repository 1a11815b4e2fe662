"""Ordinary faults in rollouts, graphs, losses and signals on a processor; by the same author."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted

Batch = list[torch.Tensor]


class Cart:
    """A cart with a pole, which begins again when the pole has fallen."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.state = self.begun()

    def begun(self) -> np.ndarray:
        """Return a state with the pole nearly upright."""
        return self.rng.uniform(-0.05, 0.05, 4).astype(np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float]:
        """Return the state after a push to the left or right, and the reward."""
        place, speed, angle, turn = map(float, self.state)
        force, sine, cosine = (10.0 if action else -10.0), math.sin(angle), math.cos(angle)
        pushed = (force + 0.05 * turn**2 * sine) / 1.1
        turning = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        moved = pushed - 0.05 * turning * cosine / 1.1
        self.state = np.array(
            [
                place + 0.02 * speed,
                speed + 0.02 * moved,
                angle + 0.02 * turn,
                turn + 0.02 * turning,
            ],
            dtype=np.float32,
        )
        if abs(angle) > 0.21 or abs(place) > 2.4:
            self.state = self.begun()
        return self.state, 1.0


Act = Callable[[nn.Module, list[np.ndarray]], list[int]]


def acted_alone(policy: nn.Module, states: list[np.ndarray]) -> list[int]:
    """Return an action for each state, from a pass of its own."""
    actions = []
    for state in states:
        logits = policy(torch.from_numpy(state).unsqueeze(0))
        actions.append(int(Categorical(logits=logits).sample().item()))
    return actions


def acted_together(policy: nn.Module, states: list[np.ndarray]) -> list[int]:
    """Return an action for each state, from one pass."""
    logits = policy(torch.from_numpy(np.stack(states)))
    actions: list[int] = Categorical(logits=logits).sample().tolist()
    return actions


def carts_balanced() -> Forms:
    """Ask the policy for each cart alone, or for all carts in one pass.

    From https://github.com/berkeleydeeprlcourse/homework_fall2022/issues/2,
    https://github.com/rlcode/reinforcement-learning/pull/125 and
    https://github.com/zafarali/policy-gradient-methods/pull/3.
    """

    def form(act: Act) -> Step:
        torch.manual_seed(0)
        policy = nn.Sequential(
            nn.Linear(4, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 2)
        )
        adam = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=True)
        carts = [Cart(seed) for seed in range(8)]

        def step() -> torch.Tensor:
            seen, done, gained = [], [], []
            with torch.no_grad():
                for _ in range(12):
                    seen.append([cart.state for cart in carts])
                    done.append(act(policy, seen[-1]))
                    after = [cart.step(a) for cart, a in zip(carts, done[-1], strict=True)]
                    gained.append([reward for _, reward in after])
            returns = torch.tensor(gained).flip(0).cumsum(0).flip(0)
            better = returns - returns.mean()
            states, actions = torch.from_numpy(np.array(seen)), torch.tensor(done)
            first = None
            for _ in range(4):
                chances = Categorical(logits=policy(states)).log_prob(actions)
                first = chances.detach() if first is None else first
                ratio = torch.exp(chances - first)
                loss = -torch.minimum(ratio * better, ratio.clamp(0.8, 1.2) * better).mean()
                adam.zero_grad()
                loss.backward()
                adam.step()
            return loss.detach()

        return step

    return Forms(form(acted_alone), form(acted_together))


def positions(bonds: torch.Tensor) -> torch.Tensor:
    """Return eigenvectors of a molecule's Laplacian, a row for each atom."""
    root = bonds.sum(1).clamp(min=1).rsqrt()
    laplacian = torch.eye(len(bonds)) - root[:, None] * bonds * root
    vectors: torch.Tensor = torch.linalg.eigh(laplacian)[1][:, 1:9]
    return vectors


class Molecules(Dataset[Batch]):
    """Atoms and bonds; what is known of places comes from ``place``."""

    def __init__(self, bonds: torch.Tensor, place: Callable[[int], torch.Tensor]) -> None:
        self.bonds, self.place = bonds, place
        self.atoms = torch.randint(12, bonds.shape[:2])

    def __len__(self) -> int:
        """Return how many molecules there are."""
        return len(self.bonds)

    def __getitem__(self, index: int) -> Batch:
        """Return atoms, bonds, places of atoms, and the energy."""
        energy = torch.tensor(index % 7 / 7)
        return [self.atoms[index], self.bonds[index], self.place(index), energy]


class Energy(nn.Module):
    """The energy of a molecule, by messages along bonds."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.atoms, self.places = nn.Embedding(12, width), nn.Linear(8, width)
        self.layers = nn.ModuleList([nn.Linear(2 * width, width) for _ in range(3)])
        self.head = nn.Linear(width, 1)

    def forward(
        self, atoms: torch.Tensor, bonds: torch.Tensor, places: torch.Tensor
    ) -> torch.Tensor:
        """Return an energy for each molecule."""
        hidden = self.atoms(atoms) + self.places(places)
        for layer in self.layers:
            both = torch.cat([hidden, torch.bmm(bonds, hidden)], 2)
            hidden = hidden + functional.silu(layer(both))
        energy: torch.Tensor = self.head(hidden.mean(1)).squeeze(1)
        return energy


def molecules_placed() -> Forms:
    """Find the same eigenvectors of each molecule in each epoch, or keep them.

    From https://github.com/rampasek/GraphGPS/issues/7,
    https://github.com/leffff/graphormer-pyg/pull/35 and
    https://github.com/pyg-team/pytorch_geometric/issues/7094.
    """
    bonds = (torch.rand(192, 24, 24) < 0.08).float()
    bonds = (bonds + bonds.mT).clamp(max=1)
    known = [positions(one) for one in bonds]

    def form(place: Callable[[int], torch.Tensor]) -> Step:
        torch.manual_seed(0)
        model = Energy(128)
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        loader = DataLoader(Molecules(bonds, place), batch_size=24)
        batches = iter(loader)

        def step() -> torch.Tensor:
            nonlocal batches
            batch = next(batches, None)
            if batch is None:
                batches = iter(loader)
                batch = next(batches)
            adam.zero_grad()
            loss = functional.l1_loss(model(*batch[:3]), batch[3])
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(lambda number: positions(bonds[number])), form(known.__getitem__))


Total = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def summed_by_tag(scores: torch.Tensor, changes: torch.Tensor) -> torch.Tensor:
    """Return the logarithms of sums over all sequences of tags, tag by tag."""
    so_far = scores[0]
    for score in scores[1:]:
        following = []
        for tag in range(len(changes)):
            arrived = so_far + changes[tag] + score[:, tag, None].expand_as(so_far)
            following.append(torch.logsumexp(arrived, 1).unsqueeze(1))
        so_far = torch.cat(following, 1)
    return torch.logsumexp(so_far, 1)


def summed_by_word(scores: torch.Tensor, changes: torch.Tensor) -> torch.Tensor:
    """Return the same; a word's tags at once."""
    so_far = scores[0]
    for score in scores[1:]:
        so_far = torch.logsumexp(so_far[:, None] + changes, 2) + score
    return torch.logsumexp(so_far, 1)


def names_tagged() -> Forms:
    """Sum over sequences of tags by a loop over tags, or over words alone.

    From https://docs.pytorch.org/tutorials/beginner/nlp/advanced_tutorial.html,
    https://github.com/rguthrie3/BiLSTM-CRF/issues/6 and
    https://github.com/pytorch/pytorch/issues/2400.
    """
    sentences, truths = torch.randint(800, (12, 14)), torch.randint(9, (12, 14))

    def form(total: Total) -> Step:
        torch.manual_seed(0)
        words = nn.Embedding(800, 128)
        reader = nn.LSTM(128, 160, bidirectional=True, batch_first=True)
        head, changes = nn.Linear(320, 9), nn.Parameter(torch.randn(9, 9))
        weights = [*words.parameters(), *reader.parameters(), *head.parameters(), changes]
        sgd = torch.optim.SGD(weights, lr=0.01, weight_decay=1e-4, fused=True)

        def step() -> torch.Tensor:
            sgd.zero_grad()
            scores = head(reader(words(sentences))[0])
            right = scores.gather(2, truths.unsqueeze(2)).sum((1, 2))
            right = right + changes[truths[:, 1:], truths[:, :-1]].sum(1)
            loss = (total(scores.transpose(0, 1), changes) - right).mean()
            loss.backward()
            sgd.step()
            return loss.detach()

        return step

    return Forms(form(summed_by_tag), form(summed_by_word))


def earthquakes_picked() -> Forms:
    """Transform signals at the length that is needed, or at the next product of small primes.

    From https://github.com/scipy/scipy/pull/3144, https://github.com/numpy/numpy/issues/8639 and
    https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.next_fast_len.html.
    """
    record, onset = torch.randn(6, 8, 6600), torch.randint(600, 6000, (6,))
    shown, taps = 6000, 212

    def form(length: int) -> Step:
        torch.manual_seed(0)
        filters = nn.Parameter(torch.randn(8, taps) / taps**0.5)
        picker = nn.Sequential(
            nn.Conv1d(8, 32, 8, stride=8), nn.ReLU(), nn.Conv1d(32, 32, 5, padding=2), nn.ReLU(),
            nn.Conv1d(32, 1, 1), nn.Flatten(),
        )  # fmt: skip
        adam = torch.optim.Adam([filters, *picker.parameters()], lr=1e-3, fused=True)

        begins = random.Random(0)

        def step() -> torch.Tensor:
            begin = begins.randrange(600)
            ground, arrival = record[..., begin : begin + shown], (onset - begin) // 8
            adam.zero_grad()
            spectra = torch.fft.rfft(ground, length) * torch.fft.rfft(filters, length)
            filtered = torch.fft.irfft(spectra, length)[..., :shown]
            loss = functional.cross_entropy(picker(filtered), arrival)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(shown + taps - 1), form(6250))


PAIRS: Final = (
    planted("carts_balanced", "one pass for all carts", carts_balanced, "cpu"),
    planted("molecules_placed", "eigenvectors are kept", molecules_placed, "cpu"),
    planted("names_tagged", "all tags of a word at once", names_tagged, "cpu"),
    planted("earthquakes_picked", "a length of small primes", earthquakes_picked, "cpu"),
)
