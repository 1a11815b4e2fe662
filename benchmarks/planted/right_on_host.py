"""Right programs of CPU torch that train, of kinds that no planted fault has."""

from __future__ import annotations

import copy
import itertools
from typing import Final

import torch
from torch import nn
from torch.nn import functional
from torch.optim import swa_utils
from torch.utils import checkpoint

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import BARE, FULL, SHAPES, STACKS, RightProgram

HOST: Final = "cpu"


def perceptron(*widths: int) -> nn.Sequential:
    """Return linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for before, behind in itertools.pairwise(widths):
        layers += [nn.Linear(before, behind), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def batch_in_parts() -> Step:
    """Return training that adds the gradients of four parts, and limits their norm."""
    model = perceptron(256, 512, 512, 16)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(adam, 1000)
    parts = [(torch.rand(64, 256), torch.randint(16, (64,))) for _ in range(4)]

    def step() -> None:
        for inputs, targets in parts:
            (functional.cross_entropy(model(inputs), targets) / len(parts)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        adam.step()
        adam.zero_grad()
        rate.step()

    return step


def distillation() -> Step:
    """Return training of a small network by the scores of a greater one."""
    teacher, student = perceptron(256, 768, 768, 64).eval(), perceptron(256, 192, 64)
    adam = torch.optim.Adam(student.parameters(), fused=True)
    inputs, targets = torch.rand(8, 96, 256), torch.randint(64, (8, 96))
    number = 0

    def step() -> None:
        nonlocal number
        pixels, labels = inputs[number % 8], targets[number % 8]
        number += 1
        with torch.no_grad():
            soft = functional.log_softmax(teacher(pixels) / 4, dim=-1)
        adam.zero_grad()
        scores = student(pixels)
        distance = functional.kl_div(
            functional.log_softmax(scores / 4, dim=-1), soft, log_target=True, reduction="batchmean"
        )
        (functional.cross_entropy(scores, labels) + 16 * distance).backward()
        adam.step()

    return step


def recomputed_blocks() -> Step:
    """Return training that recomputes what its blocks need, to save memory."""
    blocks = nn.ModuleList(perceptron(256, 512, 256) for _ in range(4))
    head = nn.Linear(256, 10)
    sgd = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.1, fused=True)
    inputs, targets = torch.rand(128, 256), torch.randint(10, (128,))

    def step() -> None:
        hidden = inputs
        for block in blocks:
            hidden = hidden + checkpoint.checkpoint(block, hidden, use_reentrant=False)
        functional.cross_entropy(head(hidden), targets).backward()
        sgd.step()
        sgd.zero_grad()

    return step


def averaged() -> Step:
    """Return training with an average of the weights by torch's own class."""
    model = perceptron(256, 512, 512, 10)
    average = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.999))
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, targets = torch.rand(192, 256), torch.randint(10, (192,))

    def step() -> None:
        adam.zero_grad()
        functional.cross_entropy(model(inputs), targets).backward()
        adam.step()
        average.update_parameters(model)

    return step


class LowRank(nn.Module):
    """A frozen product, and a trained one of low rank beside it."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the sum of both products."""
        both: torch.Tensor = self.base(hidden) + self.up(self.down(hidden))
        return both


def low_rank() -> Step:
    """Return fine-tuning of adapters in a model whose weights are frozen."""
    layers = [layer for _ in range(4) for layer in (LowRank(384, 8), nn.GELU())]
    model = nn.Sequential(*layers, nn.Linear(384, 16))
    trained = [each for each in model.parameters() if each.requires_grad]
    adam = torch.optim.AdamW(trained, fused=True)
    inputs, targets = torch.rand(4, 128, 384), torch.randint(16, (4, 128))
    number = 0

    def step() -> None:
        nonlocal number
        number += 1
        functional.cross_entropy(model(inputs[number % 4]), targets[number % 4]).backward()
        adam.step()
        adam.zero_grad()

    return step


class Tagger(nn.Module):
    """The class of a text of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, 96)
        self.memory = nn.LSTM(96, 128, batch_first=True)
        self.head = nn.Linear(128, 8)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the scores of each text's last state."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.words(words), lengths, batch_first=True, enforce_sorted=False
        )
        _, (state, _) = self.memory(packed)
        scores: torch.Tensor = self.head(state[-1])
        return scores


def packed_texts() -> Step:
    """Return training on texts of various lengths, packed."""
    model = Tagger()
    adam = torch.optim.Adam(model.parameters(), fused=True)
    lengths = torch.randint(4, 24, (6, 16))
    words, labels = torch.randint(1000, (6, 16, 24)), torch.randint(8, (6, 16))
    number = 0

    def step() -> None:
        nonlocal number
        now = number % 6
        number += 1
        longest = int(lengths[now].max())
        adam.zero_grad()
        scores = model(words[now, :, :longest], lengths[now])
        functional.cross_entropy(scores, labels[now]).backward()
        adam.step()

    return step


def process() -> Step:
    """Return the fit of a Gaussian process, in float64 as its factorization needs."""
    points = torch.rand(320, 3, dtype=torch.float64)
    goal = points.sin().sum(dim=1, keepdim=True)
    scales = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    noise = nn.Parameter(torch.full((), -4.0, dtype=torch.float64))
    adam = torch.optim.Adam([scales, noise], lr=0.05)

    def step() -> None:
        adam.zero_grad()
        scaled = points * scales.exp()
        kernel = torch.exp(-0.5 * torch.cdist(scaled, scaled).square())
        factor = torch.linalg.cholesky(kernel + torch.diag(noise.exp().expand(320)))
        solved = torch.cholesky_solve(goal, factor)
        loss = 0.5 * (goal * solved).sum() + factor.diagonal().log().sum()
        loss.backward()
        adam.step()

    return step


def factorization() -> Step:
    """Return the factors of a sparse matrix, with sparse gradients."""
    users, items = (nn.Embedding(50_000, 64, sparse=True) for _ in range(2))
    adam = torch.optim.SparseAdam([*users.parameters(), *items.parameters()])
    pairs, marks = torch.randint(50_000, (6, 2, 2048)), torch.rand(6, 2048)
    number = 0

    def step() -> None:
        nonlocal number
        number += 1
        who, what = pairs[number % 6]
        adam.zero_grad()
        found = torch.linalg.vecdot(users(who), items(what))
        functional.mse_loss(found, marks[number % 6]).backward()
        adam.step()

    return step


def several_heads() -> Step:
    """Return training of a trunk with a head for each of three tasks."""
    trunk = perceptron(256, 512, 512, 256)
    heads = nn.ModuleList(nn.Linear(256, size) for size in (10, 20, 1))
    adam = torch.optim.AdamW([*trunk.parameters(), *heads.parameters()], fused=True)
    inputs = torch.rand(128, 256)
    first, second = torch.randint(10, (128,)), torch.randint(20, (128,))
    third = torch.rand(128, 1)

    def step() -> None:
        adam.zero_grad()
        shared = functional.relu(trunk(inputs))
        one, two, three = (head(shared) for head in heads)
        loss = functional.cross_entropy(one, first) + functional.cross_entropy(two, second)
        (loss + functional.mse_loss(three, third)).backward()
        adam.step()

    return step


def gently_copied() -> Step:
    """Return learning of values from a memory of moves, by a target that follows slowly."""
    values = perceptron(32, 256, 256, 6)
    target = copy.deepcopy(values).requires_grad_(False)
    adam = torch.optim.Adam(values.parameters(), fused=True)
    memory, following = torch.rand(4096, 32), torch.rand(4096, 32)
    moves, rewards = torch.randint(6, (4096, 1)), torch.rand(4096, 1)

    def step() -> None:
        rows = torch.randint(4096, (256,))
        with torch.no_grad():
            goal = rewards[rows] + 0.99 * target(following[rows]).amax(dim=1, keepdim=True)
        found = values(memory[rows]).gather(1, moves[rows])
        adam.zero_grad()
        functional.smooth_l1_loss(found, goal).backward()
        adam.step()
        with torch.no_grad():
            torch._foreach_lerp_([*target.parameters()], [*values.parameters()], 0.005)

    return step


def searched_along_lines() -> Step:
    """Return a fit by LBFGS, which evaluates its model several times in a step."""
    model = nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 1))
    search = torch.optim.LBFGS(model.parameters(), max_iter=5, line_search_fn="strong_wolfe")
    points = torch.rand(512, 32)
    goal = points.sin().sum(dim=1, keepdim=True)

    def loss() -> torch.Tensor:
        search.zero_grad()
        value = functional.mse_loss(model(points), goal)
        value.backward()
        return value

    def step() -> None:
        search.step(loss)

    return step


PROGRAMS: tuple[RightProgram, ...] = tuple(
    RightProgram(build.__name__, what, HOST, build, record)
    for build, what, record in (
        (batch_in_parts, "gradients of four parts added", FULL),
        (distillation, "a student that learns a teacher's scores", FULL),
        (recomputed_blocks, "gradient checkpointing", FULL),
        (averaged, "an average of the weights by torch's class", STACKS),
        (low_rank, "adapters of low rank", FULL),
        (packed_texts, "a packed recurrent network", FULL),
        (process, "the fit of a Gaussian process", FULL),
        (factorization, "factors of a sparse matrix", BARE),
        (several_heads, "three tasks with one trunk", SHAPES),
        (gently_copied, "values with a slow target", FULL),
        (searched_along_lines, "a fit by LBFGS", FULL),
    )
)
