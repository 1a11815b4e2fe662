"""Programs as an expert writes them, that a careless reader might suspect; by the same author."""

from __future__ import annotations

import copy
import math
from typing import Final

import numpy as np
import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import convert_conv2d_weight_memory_format

from benchmarks.pairs.pair import Step
from benchmarks.planted.fault import tuned

DEVICE: Final = "refdev"


def curve_fitted() -> Step:
    """Fit a Gaussian process; its matrix is too near singular for single precision."""
    places = torch.linspace(0, 1, 320, dtype=torch.float64)
    seen = torch.sin(12 * places) + 1e-3 * torch.randn(320, dtype=torch.float64)
    squares = (places[:, None] - places).square()
    noise = 1e-6 * torch.eye(320, dtype=torch.float64)
    scale, length = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))
    adam = torch.optim.Adam([scale, length], lr=1e-3, fused=True)

    def step() -> torch.Tensor:
        adam.zero_grad()
        covariance = torch.exp(scale - squares * torch.exp(2 * length + 3))
        root = torch.linalg.cholesky(covariance + noise)
        solved = torch.linalg.solve_triangular(root, seen[:, None], upper=False)
        loss = solved.square().sum() / 2 + root.diagonal().log().sum()
        loss.backward()
        adam.step()
        return loss.detach()

    return step


class Translator(nn.Module):
    """Words from words; each state needs what the one before attended to."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Embedding(words, width), nn.Embedding(words, width)
        self.reader = nn.GRU(width, width, batch_first=True)
        self.writer = nn.GRUCell(2 * width, width)
        self.scores = nn.Linear(2 * width, words)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return a score for each next word."""
        memory, last = self.reader(self.inward(source))
        keys = memory.transpose(1, 2)
        state, context = last[0], memory.new_zeros(len(source), memory.shape[2])
        found = []
        for word in self.outward(target).unbind(1):
            state = self.writer(torch.cat([word, context], 1), state)
            weights = torch.softmax(torch.bmm(state[:, None], keys), 2)
            context = torch.bmm(weights, memory).squeeze(1)
            found.append(torch.cat([state, context], 1))
        scores: torch.Tensor = self.scores(torch.stack(found, 1))
        return scores


def sentences_translated() -> Step:
    """Train attention that feeds its own input: the loop over words cannot be spared."""
    model = Translator(800, 192)
    source, target = torch.randint(800, (48, 16)), torch.randint(800, (48, 13))
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step() -> torch.Tensor:
        adam.zero_grad()
        scores = model(source, target[:, :-1])
        loss = functional.cross_entropy(scores.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        return loss.detach()

    return step


def customers_invented() -> Step:
    """Train a critic whose gradient is part of its loss, then what it judges."""
    table = torch.randn(2048, 40)
    maker = nn.Sequential(
        nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 40)
    )
    critic = nn.Sequential(
        nn.Linear(40, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU(), nn.Linear(256, 1)
    )
    of_maker, of_critic = (
        torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.5, 0.9), fused=True)
        for model in (maker, critic)
    )

    def step() -> torch.Tensor:
        real = table[torch.randint(len(table), (256,))]
        with torch.no_grad():
            made = maker(torch.randn(256, 32))
        of_critic.zero_grad()
        judged, doubted = critic(torch.cat([made, real])).chunk(2)
        between = torch.lerp(made, real, torch.rand(256, 1)).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        loss = judged.mean() - doubted.mean() + 10 * penalty
        loss.backward()
        of_critic.step()
        critic.requires_grad_(False)
        of_maker.zero_grad()
        liked = -critic(maker(torch.randn(256, 32))).mean()
        liked.backward()
        critic.requires_grad_(True)
        of_maker.step()
        return liked.detach()

    return step


def papers_sorted() -> Step:
    """Train on one whole graph, the same at every step; features meet the graph once."""
    count = 3000
    edges = torch.rand(count, count) < 0.002
    near = (edges | edges.T | torch.eye(count, dtype=torch.bool)).float()
    root = near.sum(1).rsqrt()
    graph = (root[:, None] * near * root).to_sparse_csr()
    mixed, subjects = graph @ torch.randn(count, 128), torch.randint(7, (count,))
    inner, outer, drop = nn.Linear(128, 64), nn.Linear(64, 7, bias=False), nn.Dropout(0.5)
    model = nn.ModuleList([inner, outer])
    adam = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4, fused=True)

    def step() -> torch.Tensor:
        adam.zero_grad()
        hidden = drop(functional.relu(inner(mixed)))
        scores = graph @ outer(hidden)
        loss = functional.cross_entropy(scores[:400], subjects[:400])
        loss.backward()
        adam.step()
        with torch.inference_mode():
            guessed = (graph @ outer(functional.relu(inner(mixed)))).argmax(1)
            return (guessed[400:] == subjects[400:]).float().mean()

    return step


def encoder(width: int) -> nn.Sequential:
    """Return a convolutional network that gives a vector for each picture."""
    made = nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * width),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 64),
    )  # fmt: skip
    convert_conv2d_weight_memory_format(made, torch.channels_last)
    return made


def views_compared() -> Step:
    """Learn from two views of each picture, each with the statistics of its own batch."""
    pictures = torch.rand(2, 24, 3, 48, 48).flatten(0, 1)
    one, other = pictures.to(memory_format=torch.channels_last).chunk(2)
    student = encoder(24)
    teacher = copy.deepcopy(student).requires_grad_(False)
    guess = nn.Sequential(nn.Linear(64, 128), nn.ReLU(inplace=True), nn.Linear(128, 64))
    learned = [*student.parameters(), *guess.parameters()]
    sgd = torch.optim.SGD(learned, lr=0.05, momentum=0.9, fused=True)
    slow: list[torch.Tensor] = list(teacher.parameters())
    fast: list[torch.Tensor] = list(student.parameters())

    def step() -> torch.Tensor:
        with torch.no_grad():
            taught = teacher(one), teacher(other)
        sgd.zero_grad()
        guesses = guess(student(other)), guess(student(one))
        alike = [
            functional.cosine_similarity(a, b).mean() for a, b in zip(guesses, taught, strict=True)
        ]
        loss = 2 - alike[0] - alike[1]
        loss.backward()
        sgd.step()
        torch._foreach_lerp_(slow, fast, 0.01)
        return loss.detach()

    return step


class Block(nn.Module):
    """A causal layer with room for the keys and values of all words."""

    def __init__(self, width: int, heads: int, batch: int, room: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.keys = nn.Buffer(torch.zeros(batch, heads, room, width // heads))
        self.values = nn.Buffer(torch.zeros(batch, heads, room, width // heads))

    def forward(self, hidden: torch.Tensor, start: int) -> torch.Tensor:
        """Return the hidden state of words that begin at a place."""
        end = start + hidden.shape[1]
        query, key, value = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in self.inward(self.norms[0](hidden)).chunk(3, 2)
        )
        self.keys[:, :, start:end], self.values[:, :, start:end] = key, value
        mixed = functional.scaled_dot_product_attention(
            query, self.keys[:, :, :end], self.values[:, :, :end], is_causal=start == 0
        )
        hidden = hidden + self.outward(mixed.transpose(1, 2).flatten(2))
        return hidden + self.narrow(functional.gelu(self.wide(self.norms[1](hidden))))


def question_answered() -> Step:
    """Write words one by one; every fourth time the host looks whether all answers end."""
    words, places = nn.Embedding(1000, 192), nn.Embedding(64, 192)
    blocks = nn.ModuleList([Block(192, 4, 16, 64) for _ in range(2)])
    head = nn.Sequential(nn.LayerNorm(192), nn.Linear(192, 1000, bias=False))
    nn.ModuleList([words, places, blocks, head]).to(DEVICE).eval()
    prompt = torch.randint(1000, (16, 12)).to(DEVICE)
    order = torch.arange(64).to(DEVICE)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        new, start, written = prompt, 0, [prompt]
        ended = torch.zeros(16, 1, dtype=torch.bool, device=DEVICE)
        for number in range(12):
            end = start + new.shape[1]
            hidden = words(new) + places(order[start:end])
            for block in blocks:
                hidden = block(hidden, start)
            new, start = head(hidden[:, -1]).argmax(1, keepdim=True), end
            written.append(new)
            ended |= new == 0
            if number % 4 == 3 and bool(ended.all()):
                break
        return torch.cat(written, 1).cpu()

    return step


def residual(width: int) -> nn.Sequential:
    """Return what a residual block adds."""
    return nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
    )


class Tower(nn.Module):
    """A residual network."""

    def __init__(self, inner: int, width: int, blocks: int, outer: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(inner, width), nn.Linear(width, outer)
        self.blocks = nn.ModuleList([residual(width) for _ in range(blocks)])

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the outputs."""
        hidden = self.inward(hidden)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        outputs: torch.Tensor = self.outward(hidden)
        return outputs


def offers_clicked() -> Step:
    """Add up gradients of four batches, and the loss on the device, which is read rarely."""
    tables, tower = nn.Embedding(4000, 24), Tower(6 * 24 + 16, 192, 2, 1)
    model = nn.ModuleList([tables, tower]).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    kinds, numbers = torch.randint(4000, (4, 128, 6)), torch.randn(4, 128, 16)
    clicks = torch.randint(2, (4, 128)).float()
    total, count = torch.zeros((), device=DEVICE), 0
    seen: list[float] = []

    def step() -> None:
        nonlocal count
        for batch in zip(kinds, numbers, clicks, strict=True):
            kind, number, click = (each.to(DEVICE, non_blocking=True) for each in batch)
            scores = tower(torch.cat([tables(kind).flatten(1), number], 1)).squeeze(1)
            loss = functional.binary_cross_entropy_with_logits(scores, click) / 4
            loss.backward()
            total.add_(loss.detach())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad()
        count += 1
        if count % 50 == 0:
            seen.append(total.item() / 50)
            total.zero_()

    return step


def tasks_reconciled() -> Step:
    """Take the gradient of each of two tasks, and correct the one that works against the other."""
    shared, heads = Tower(64, 192, 2, 192), nn.ModuleList([nn.Linear(192, 8), nn.Linear(192, 1)])
    model = nn.ModuleList([shared, heads]).to(DEVICE)
    common, own = list(shared.parameters()), list(heads.parameters())
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    inputs, kinds = torch.randn(256, 64).to(DEVICE), torch.randint(8, (256,)).to(DEVICE)
    amounts = torch.randn(256, 1).to(DEVICE)

    def step() -> None:
        hidden = functional.gelu(shared(inputs))
        losses = [
            functional.cross_entropy(heads[0](hidden), kinds),
            functional.mse_loss(heads[1](hidden), amounts),
        ]
        first = torch.autograd.grad(losses[0], [*common, *own[:2]], retain_graph=True)
        second = torch.autograd.grad(losses[1], [*common, *own[2:]])
        many = len(common)
        one, two = (torch.cat([g.flatten() for g in all_[:many]]) for all_ in (first, second))
        against = torch.dot(one, two).clamp(max=0)
        both = torch.addcmul(one + two, two, against / two.square().sum(), value=-1)
        parts = both.split([weight.numel() for weight in common])
        for weight, part in zip(common, parts, strict=True):
            weight.grad = part.view_as(weight)
        for weight, part in zip(own, [*first[many:], *second[many:]], strict=True):
            weight.grad = part
        adam.step()

    return step


def robots_steered() -> Step:
    """Steer robots that are simulated on the host, which needs each action of the policy."""
    policy = Tower(32, 256, 2, 8).to(DEVICE).eval()
    rng = np.random.default_rng(0)
    push = rng.normal(size=(8, 32)).astype(np.float32)
    place = rng.normal(size=(192, 32)).astype(np.float32)

    @torch.inference_mode()
    def step() -> float:
        state, reward = place, 0.0
        for _ in range(4):
            seen = torch.from_numpy(state).to(DEVICE, non_blocking=True)
            action = policy(seen).tanh().cpu().numpy()
            state = np.float32(0.95) * state + np.float32(0.05) * (action @ push)
            reward -= float(np.square(state).mean())
        return reward

    return step


def noise_predicted() -> Step:
    """Train a diffusion model at random times, and keep a slow average of its weights."""
    model = Tower(64 + 32, 224, 3, 64).to(DEVICE)
    average = copy.deepcopy(model).requires_grad_(False)
    slow: list[torch.Tensor] = list(average.parameters())
    fast: list[torch.Tensor] = list(model.parameters())
    adam = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=True)
    level = (1 - torch.linspace(1e-4, 0.02, 1000)).cumprod(0)
    clear, noisy = level.sqrt().to(DEVICE), (1 - level).sqrt().to(DEVICE)
    angles = torch.arange(1000)[:, None] * torch.exp(-torch.arange(16) * math.log(1e4) / 16)
    waves = torch.cat([angles.sin(), angles.cos()], 1).to(DEVICE)
    latent = torch.randn(192, 64).to(DEVICE)

    def step() -> None:
        time = torch.randint(1000, (192,), device=DEVICE)
        noise = torch.randn_like(latent)
        mixed = clear[time, None] * latent + noisy[time, None] * noise
        adam.zero_grad()
        loss = functional.mse_loss(model(torch.cat([mixed, waves[time]], 1)), noise)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        torch._foreach_lerp_(slow, fast, 0.001)

    return step


PAIRS: Final = (
    tuned(curve_fitted, "a Gaussian process in double precision", "cpu"),
    tuned(sentences_translated, "attention that feeds its own input", "cpu"),
    tuned(customers_invented, "a critic with a gradient penalty", "cpu"),
    tuned(papers_sorted, "one graph, and its evaluation", "cpu"),
    tuned(views_compared, "two views through one encoder", "cpu"),
    tuned(question_answered, "words written one by one", DEVICE),
    tuned(offers_clicked, "gradients of four batches", DEVICE),
    tuned(tasks_reconciled, "a gradient for each task", DEVICE),
    tuned(robots_steered, "actions for a simulation on the host", DEVICE),
    tuned(noise_predicted, "diffusion, with averaged weights", DEVICE),
)
