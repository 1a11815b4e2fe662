"""Right programs against rules on passes, Python, own operators and loaders on a host."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrizations import spectral_norm

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import FULL, RightProgram
from benchmarks.planted.right_on_host import perceptron

HOST: Final = "cpu"


def second_view_by_first() -> Step:
    """Return two passes of an encoder: what the first one finds scales the second one's picture."""
    encoder = perceptron(256, 512, 512, 16)
    pictures, others = torch.rand(8, 256), torch.rand(8, 256)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        first = encoder(pictures)
        contrast = first.amax().exp()
        return functional.cosine_similarity(first, encoder(others * contrast))

    return step


def taught_by_average() -> Step:
    """Return training of a student beside its teacher, which is the average of its weights."""
    student, teacher = perceptron(64, 256, 256, 16), perceptron(64, 256, 256, 16)
    teacher.requires_grad_(False).load_state_dict(student.state_dict())
    seen = torch.rand(16, 64)
    adam = torch.optim.Adam(student.parameters(), fused=True)
    averages: list[torch.Tensor] = list(teacher.parameters())
    learned = [one.detach() for one in student.parameters()]

    def step() -> None:
        adam.zero_grad()
        goal = teacher(seen).softmax(1)
        functional.cross_entropy(student(seen + 0.1 * torch.randn_like(seen)), goal).backward()
        adam.step()
        torch._foreach_lerp_(averages, learned, weight=0.01)

    return step


def judged_by_spectra() -> Step:
    """Return training of a judge with spectral norms, on real and on made rows."""
    judge = nn.Sequential(
        spectral_norm(nn.Linear(64, 256)), nn.ReLU(), spectral_norm(nn.Linear(256, 1))
    )
    maker = perceptron(16, 128, 64).requires_grad_(False)
    real = torch.rand(32, 64)
    adam = torch.optim.Adam(judge.parameters(), fused=True)

    def step() -> None:
        adam.zero_grad()
        made = maker(torch.randn(32, 16))
        loss = functional.relu(1 - judge(real)).mean() + functional.relu(1 + judge(made)).mean()
        loss.backward()
        adam.step()

    return step


def tested_on_turned() -> Step:
    """Return the mean of a model's answers to pictures, also turned, in large batches."""
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    ).eval()  # fmt: skip
    pictures = torch.rand(96, 3, 32, 32)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        views = pictures, pictures.flip(-1), pictures.flip(-2), pictures.rot90(2, (-2, -1))
        return torch.stack([model(view).softmax(1) for view in views]).mean(0)

    return step


def parsed_by_moves() -> Step:
    """Return a parse of sentences: scores decide the moves, and stacks decide the next features."""
    scorer = perceptron(3 * 48, 256, 2).eval()
    words = torch.rand(16, 20, 48)
    rows = torch.arange(16).unsqueeze(1)

    def places(stacks: list[list[int]], heads: list[int], moves: list[int]) -> list[list[int]]:
        found = []
        for at, (stack, move) in enumerate(zip(stacks, moves, strict=True)):
            if (move or len(stack) < 2) and heads[at] < 19:
                heads[at] += 1
                stack.append(heads[at])
            elif len(stack) > 1:
                stack.pop(-2)
            found.append([stack[-1], stack[-2] if len(stack) > 1 else 0, min(heads[at] + 1, 19)])
        return found

    @torch.inference_mode()
    def step() -> list[list[int]]:
        stacks, heads = [[0] for _ in range(16)], [0] * 16
        read = [[0, 0, 1]] * 16
        for _ in range(30):
            scores = scorer(words[rows, torch.tensor(read)].flatten(1))
            read = places(stacks, heads, scores.argmax(1).tolist())
        return stacks

    return step


def logged_at_times() -> Step:
    """Return training that writes a summary of its weights after each tenth step."""
    model = perceptron(128, 512, 512, 8)
    inputs, labels = torch.rand(64, 128), torch.randint(8, (64,))
    adam = torch.optim.Adam(model.parameters(), fused=True)
    count, lines = itertools.count(), list[str]()

    def summary() -> str:
        edges = np.linspace(-0.1, 0.1, 30)
        tables = [np.histogram(one.detach().numpy(), edges)[0] for one in model.parameters()]
        return "\n".join(",".join(f"{number:d}" for number in table) for table in tables)

    def step() -> None:
        adam.zero_grad()
        functional.cross_entropy(model(inputs), labels).backward()
        adam.step()
        if next(count) % 10 == 7:
            lines.append(summary())

    return step


class Pendulum(torch.autograd.Function):
    """The angle of a pendulum after some time, in NumPy, and its exact derivative."""

    @staticmethod
    def forward(ctx: Any, start: torch.Tensor) -> torch.Tensor:
        """Return the angles: all elements at once, and each round needs the one before."""
        angle = start.detach().numpy()
        speed, slope, bend = np.zeros_like(angle), np.ones_like(angle), np.zeros_like(angle)
        for _ in range(60):
            speed = speed - 0.05 * np.sin(angle)
            bend = bend - 0.05 * np.cos(angle) * slope
            angle, slope = angle + 0.05 * speed, slope + 0.05 * bend
            if not np.isfinite(speed).all():
                break
        ctx.save_for_backward(torch.from_numpy(slope))
        return torch.from_numpy(angle)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        """Return the gradient of the first angle."""
        found: torch.Tensor = grads[0] * ctx.saved_tensors[0]
        return found


def swings_of_pendulums() -> Step:
    """Return a fit of first angles through an operator of one's own that computes much."""
    model, seen = perceptron(16, 128, 1), torch.rand(4096, 1)
    inputs = torch.rand(4096, 16)
    adam = torch.optim.Adam(model.parameters(), fused=True)

    def step() -> None:
        adam.zero_grad()
        functional.mse_loss(Pendulum.apply(model(inputs)), seen).backward()
        adam.step()

    return step


def branches_of_sizes() -> Step:
    """Return a network of branches: convolutions of one pixel, of three and of five, and deep."""

    def branch(near: int, width: int, groups: int = 1) -> nn.Module:
        return nn.Conv2d(48, width, near, padding=near // 2, groups=groups)

    branches = nn.ModuleList(
        [branch(1, 32), branch(3, 64), branch(5, 16), branch(3, 48, 48), branch(7, 48, 48)]
    )
    join, pool = nn.Conv2d(208, 48, 1), nn.MaxPool2d(2)
    pictures = torch.rand(8, 48, 32, 32)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        hidden = pictures
        for _ in range(4):
            hidden = torch.cat([one(hidden) for one in branches], 1)
            hidden = pool(join(hidden).relu_())
        return hidden

    return step


def batches_made_at_once() -> Step:
    """Return training on small batches that the training process takes from a table itself."""
    rows, labels = torch.rand(8192, 64), torch.randint(8, (8192,))
    data = torch.utils.data.TensorDataset(rows, labels)
    model = perceptron(64, 256, 8)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    sampler = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(data), 64, True)

    def batches() -> Iterator[list[torch.Tensor]]:
        while True:
            yield from torch.utils.data.DataLoader(data, batch_size=None, sampler=sampler)

    endless = batches()

    def step() -> None:
        x, y = next(endless)
        adam.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        adam.step()

    return step


def moved_in_maze(place: int, move: int) -> tuple[int, list[float]]:
    """Return the next place and what is seen from it: how far it is to each wall."""
    place = (place + (1, 23, -1, -23)[move]) % 529
    seen = []
    for way in (1, 23, -1, -23, 24, -24, 22, -22):
        far, at = 0, place
        while far < 40 and (at * 7919) % 31:
            far, at = far + 1, (at + way) % 529
        seen.append(far / 40)
    return place, seen


def walked_by_scores() -> Step:
    """Return a walk through a maze of Python: each move is the best one by the model."""
    model = perceptron(8, 64, 4).eval()

    @torch.inference_mode()
    def step() -> int:
        place, seen = moved_in_maze(3, 0)
        for _ in range(12):
            place, seen = moved_in_maze(place, int(model(torch.tensor(seen)).argmax()))
        return place

    return step


def until_sure() -> Step:
    """Return the answer of a small model, or of further views as long as it is not sure."""
    model = perceptron(64, 256, 256, 8).eval()
    views = [torch.rand(1, 64) for _ in range(6)]

    @torch.inference_mode()
    def step() -> torch.Tensor:
        total = torch.zeros(1, 8)
        for view in views:
            total = total + model(view).softmax(1)
            if total.amax().item() > 0.6:
                break
        return total

    return step


PROGRAMS: Final = tuple(
    RightProgram(build.__name__, what, HOST, build, FULL)
    for build, what in (
        (second_view_by_first, "a second view by the first"),
        (taught_by_average, "a student and its average"),
        (judged_by_spectra, "a judge by spectra"),
        (tested_on_turned, "a test on turned pictures"),
        (parsed_by_moves, "parsing by moves"),
        (logged_at_times, "a log each tenth step"),
        (swings_of_pendulums, "pendulums, step by step"),
        (branches_of_sizes, "convolutions of many sizes"),
        (batches_made_at_once, "batches taken from a table"),
        (walked_by_scores, "a walk by scores"),
        (until_sure, "views until it is sure"),
    )
)
