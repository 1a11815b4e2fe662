"""Right programs that resemble faults which people report; written blind, and judged once."""

from __future__ import annotations

import copy
import itertools
from typing import Any, Final

import numpy as np
import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import BARE, BY_EVENTS, FULL, SHAPES, STACKS, RightProgram

HOST: Final = "cpu"
DEVICE: Final = "refdev"


def transcriptions() -> Step:
    """Return training on utterances of like lengths, packed for a recurrent net, by CTC."""
    lengths = [torch.randint(low, low + 12, (12,)) for low in (60, 100, 80, 70)]
    batches = [[torch.randn(int(each), 40) for each in batch] for batch in lengths]
    letters = torch.randint(1, 29, (12, 10))
    heard = nn.LSTM(40, 96, bidirectional=True, batch_first=True)
    head = nn.Linear(192, 29)
    adam = torch.optim.AdamW([*heard.parameters(), *head.parameters()], fused=True)
    turns = itertools.cycle(zip(batches, lengths, strict=True))

    def step() -> None:
        utterances, frames = next(turns)
        packed = pack_padded_sequence(
            pad_sequence(utterances, batch_first=True), frames, batch_first=True,
            enforce_sorted=False,
        )  # fmt: skip
        hidden, _ = pad_packed_sequence(heard(packed)[0], batch_first=True)
        scores = head(hidden).log_softmax(2).transpose(0, 1)
        loss = functional.ctc_loss(scores, letters, frames, torch.full((12,), 10))
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


class Forecaster(nn.Module):
    """A forecast of each series in the scale of its own window."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(32)), nn.Parameter(torch.zeros(32))
        self.mix = nn.Sequential(nn.Linear(192, 512), nn.GELU(), nn.Linear(512, 192))
        self.across = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
        self.head = nn.Linear(192, 48)

    def forward(self, past: torch.Tensor) -> torch.Tensor:
        """Return what comes: [windows, times, series]."""
        spread, middle = torch.std_mean(past, dim=1, keepdim=True)
        hidden = (past - middle) / (spread + 1e-5) * self.weight + self.bias
        hidden = hidden + self.mix(hidden.transpose(1, 2)).transpose(1, 2)
        hidden = hidden + self.across(hidden)
        ahead = self.head(hidden.transpose(1, 2)).transpose(1, 2)
        result: torch.Tensor = (ahead - self.bias) / self.weight * (spread + 1e-5) + middle
        return result


def forecasts_in_own_scale() -> Step:
    """Return training of forecasts with reversible normalization of each window."""
    series = torch.randn(4000, 32).cumsum(0)
    model = Forecaster()
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    windows = series.unfold(0, 240, 1).transpose(1, 2)

    def step() -> None:
        batch = windows[torch.randint(len(windows), (32,))]
        adam.zero_grad(set_to_none=True)
        functional.mse_loss(model(batch[:, :192]), batch[:, 192:]).backward()
        adam.step()

    return step


class Pendulums:
    """Simulated pendulums, by numpy as environments are."""

    def __init__(self, count: int) -> None:
        self.angles, self.speeds = np.random.default_rng(0).standard_normal((2, count), np.float32)

    def observe(self) -> np.ndarray:
        """Return what an agent sees: [pendulums, 3]."""
        return np.stack([np.cos(self.angles), np.sin(self.angles), self.speeds], axis=1)

    def act(self, torques: np.ndarray) -> np.ndarray:
        """Move on, and return the rewards."""
        self.speeds = np.clip(self.speeds + 0.05 * (15 * np.sin(self.angles) + 3 * torques), -8, 8)
        self.angles = (self.angles + 0.05 * self.speeds + np.pi) % (2 * np.pi) - np.pi
        return -(self.angles**2) - 0.1 * self.speeds**2


def played_and_learned() -> Step:
    """Return rounds of play, whose actions an environment needs, and an update from them."""
    world, places, moments = Pendulums(64), 64, 16
    policy = nn.Sequential(nn.Linear(3, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(),
                           nn.Linear(128, 2))  # fmt: skip
    adam = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=True)
    seen = torch.empty(moments, places, 3)
    done, gained = torch.empty(moments, places), torch.empty(moments, places)

    def distribution(states: torch.Tensor) -> Normal:
        middle, spread = policy(states).unbind(-1)
        return Normal(middle, functional.softplus(spread) + 1e-3, validate_args=False)

    def step() -> None:
        with torch.inference_mode():
            for i in range(moments):
                seen[i] = torch.from_numpy(world.observe())
                done[i] = distribution(seen[i]).sample()
                gained[i] = torch.from_numpy(world.act(done[i].numpy()))
        returns = gained.flip(0).cumsum(0).flip(0)
        advantages = (returns - returns.mean()) / returns.std()
        loss = -(distribution(seen).log_prob(done) * advantages).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


class DynamicEdges(nn.Module):
    """A layer over the neighbours in the space of its own input."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.own, self.other = nn.Linear(inner, outer), nn.Linear(inner, outer, bias=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return features of [clouds, points, outer]."""
        with torch.no_grad():
            near = torch.cdist(features, features).topk(10, dim=2, largest=False).indices
        clouds, points, _ = features.shape
        rows = (near + points * torch.arange(clouds).view(-1, 1, 1)).flatten()
        sent = self.other(features).flatten(0, 1).index_select(0, rows)
        heard = sent.view(clouds, points, 10, -1).amax(2)
        return functional.leaky_relu(self.own(features) + heard, 0.2)


def dynamic_neighbours() -> Step:
    """Return training on clouds whose neighbours change from layer to layer."""
    layers = nn.Sequential(DynamicEdges(3, 32), DynamicEdges(32, 32), DynamicEdges(32, 64))
    head = nn.Linear(64, 40)
    sgd = torch.optim.SGD([*layers.parameters(), *head.parameters()], 0.1, 0.9, fused=True)
    clouds, labels = torch.randn(8, 4, 200, 3), torch.randint(40, (8, 4))
    numbers = itertools.count()

    def step() -> None:
        i = next(numbers) % len(clouds)
        sgd.zero_grad()
        scaled = clouds[i] * torch.empty(4, 1, 3).uniform_(0.7, 1.4)
        functional.cross_entropy(head(layers(scaled).amax(1)), labels[i]).backward()
        sgd.step()

    return step


def two_views() -> Step:
    """Return training on two views of images, with a teacher that follows slowly."""
    student: Any = nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
        nn.Conv2d(32, 64, 3, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 128),
    )  # fmt: skip
    student = student.to(memory_format=torch.channels_last)
    teacher = copy.deepcopy(student).requires_grad_(False)
    predict = nn.Sequential(nn.Linear(128, 256), nn.ReLU(inplace=True), nn.Linear(256, 128))
    adam = torch.optim.AdamW([*student.parameters(), *predict.parameters()], fused=True)
    batches = itertools.cycle(torch.randn(8, 16, 3, 40, 40))

    def view(images: torch.Tensor) -> torch.Tensor:
        top, left = torch.randint(0, 9, (2,)).tolist()
        return images[:, :, top : top + 32, left : left + 32]

    def step() -> None:
        images = next(batches)
        both = torch.cat([view(images), view(images)])
        both = both.contiguous(memory_format=torch.channels_last)
        with torch.no_grad():
            wanted = teacher(both).roll(16, 0)
        loss = -functional.cosine_similarity(predict(student(both)), wanted).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(teacher.parameters()), list(student.parameters()), 0.004)

    return step


def penalized_critic() -> Step:
    """Return the training of a critic with the penalty of its gradient's length."""
    critic = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU(),
                           nn.Linear(256, 1)).to(DEVICE)  # fmt: skip
    maker = nn.Sequential(nn.Linear(16, 256), nn.SiLU(), nn.Linear(256, 64)).to(DEVICE)
    sgd = torch.optim.SGD(critic.parameters(), lr=1e-3, momentum=0.9, fused=True)
    real = torch.randn(128, 64).to(DEVICE)

    def step() -> None:
        with torch.no_grad():
            made = maker(torch.randn(128, 16, device=DEVICE))
        between = torch.lerp(real, made, torch.rand(128, 1, device=DEVICE)).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        of_real, of_made = critic(torch.cat([real, made])).chunk(2)
        loss = of_made.mean() - of_real.mean() + 10 * penalty
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    return step


def written_words() -> Step:
    """Return words written one after the other with caches of fixed length, read at the end."""
    width, heads, longest = 256, 4, 64
    words = nn.Embedding(2048, width).to(DEVICE)
    joint, out = nn.Linear(width, 3 * width).to(DEVICE), nn.Linear(width, width).to(DEVICE)
    norm = nn.LayerNorm(width).to(DEVICE)
    keys = torch.zeros(4, heads, longest, width // heads, device=DEVICE)
    values = torch.zeros_like(keys)

    @torch.no_grad()
    def step() -> list[list[int]]:
        word, found = torch.zeros(4, 1, dtype=torch.long, device=DEVICE), []
        for place in range(8):
            hidden = words(word)
            query, key, value = joint(norm(hidden)).view(4, 1, 3, heads, -1).permute(2, 0, 3, 1, 4)
            keys[:, :, place : place + 1] = key
            values[:, :, place : place + 1] = value
            mixed = functional.scaled_dot_product_attention(
                query, keys[:, :, : place + 1], values[:, :, : place + 1]
            )
            hidden = hidden + out(mixed.transpose(1, 2).flatten(2))
            word = functional.linear(hidden, words.weight).argmax(2)
            found.append(word)
        answer: list[list[int]] = torch.cat(found, dim=1).tolist()
        return answer

    return step


def towers_of_a_shop() -> Step:
    """Return two towers that learn from each other's rows; the loss is read now and then."""
    users, things = nn.Embedding(500, 64).to(DEVICE), nn.Embedding(800, 64).to(DEVICE)
    of_users = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128)).to(DEVICE)
    of_things = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128)).to(DEVICE)
    modules = nn.ModuleList([users, things, of_users, of_things])
    sgd = torch.optim.SGD(modules.parameters(), lr=0.05, fused=True)
    who, what = torch.randint(500, (320,)).to(DEVICE), torch.randint(800, (320,)).to(DEVICE)
    places, total, numbers = torch.arange(320).to(DEVICE), torch.zeros((), device=DEVICE), [0]

    def step() -> None:
        mine = functional.normalize(of_users(users(who)), dim=1)
        theirs = functional.normalize(of_things(things(what)), dim=1)
        loss = functional.cross_entropy(mine @ theirs.T / 0.07, places)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        total.add_(loss.detach())
        numbers[0] += 1
        if numbers[0] % 50 == 0:
            print(total.item() / 50)
            total.zero_()

    return step


PROGRAMS: Final = (
    RightProgram("transcriptions", "utterances of like lengths, packed, by CTC", HOST,
                 transcriptions, FULL),
    RightProgram("forecasts_in_own_scale", "windows normalized each in its own scale", HOST,
                 forecasts_in_own_scale, STACKS),
    RightProgram("played_and_learned", "rounds of play and an update", HOST,
                 played_and_learned, FULL),
    RightProgram("dynamic_neighbours", "neighbours that change from layer to layer", HOST,
                 dynamic_neighbours, SHAPES),
    RightProgram("two_views", "a student of two views, and its slow teacher", HOST,
                 two_views, BARE),
    RightProgram("penalized_critic", "a critic with a penalty of its gradient", DEVICE,
                 penalized_critic, FULL),
    RightProgram("written_words", "words by caches of fixed length, read at the end", DEVICE,
                 written_words, STACKS),
    RightProgram("towers_of_a_shop", "two towers with negatives of the batch", DEVICE,
                 towers_of_a_shop, BY_EVENTS),
)  # fmt: skip
