"""Right programs that look like work on equal rows, costly forms and choices, and are not."""

from __future__ import annotations

import copy
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import FULL, SHAPES, RightProgram
from benchmarks.planted.right_on_host import perceptron

HOST: Final = "cpu"
DEVICE: Final = "refdev"


def likely_words() -> Step:
    """Return the five likeliest words of each text, with their probabilities, as lists."""
    hidden, head = torch.rand(64, 96), nn.Linear(96, 32000)

    @torch.inference_mode()
    def step() -> list[tuple[list[int], list[float]]]:
        best = head(hidden).softmax(dim=-1).topk(5, dim=-1)
        return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))

    return step


def reported_chances() -> Step:
    """Return the class of each row, and the chances of all classes for a report on the host."""
    model = nn.Linear(64, 4096).to(DEVICE)
    inputs = torch.rand(1024, 64).to(DEVICE)

    @torch.no_grad()
    def step() -> tuple[torch.Tensor, torch.Tensor]:
        chances = model(inputs).softmax(dim=-1)
        return chances.argmax(dim=-1).cpu(), chances.cpu()

    return step


def bent_and_mean() -> Step:
    """Return pictures by a bent half of a layer's tokens, and by the mean of all."""
    body, head = nn.Linear(256, 512), nn.Linear(1024, 10)
    tokens = torch.rand(64, 64, 256)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        hidden = body(tokens)
        best = hidden[:, :48].relu().mean(dim=1)
        both = torch.cat((best, hidden.mean(dim=1)), dim=-1)
        return head(both)  # type: ignore[no-any-return]

    return step


def small_additions() -> Step:
    """Return training of two narrow matrices beside a layer that stays."""
    layer = nn.Linear(768, 768).requires_grad_(False)
    down = nn.Parameter(torch.rand(768, 8) / 768)
    up = nn.Parameter(torch.zeros(8, 768))
    head = nn.Linear(768, 16)
    adam = torch.optim.Adam([down, up, *head.parameters()], fused=True)
    inputs, labels = torch.rand(1024, 768), torch.randint(16, (1024,))

    def step() -> None:
        adam.zero_grad()
        hidden = layer(inputs) + inputs @ down @ up * 2.0
        functional.cross_entropy(head(hidden), labels).backward()
        adam.step()

    return step


def put_back_in_rows() -> Step:
    """Return texts of most lengths put into rows of equal length, for a layer of columns."""
    packed = torch.rand(3600, 256)
    places = torch.randperm(4096)[:3600]
    layer, head = nn.Linear(256, 512), nn.Linear(512, 8)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        rows = torch.zeros(4096, 256)
        rows[places] = packed
        return head(layer(rows).relu_())  # type: ignore[no-any-return]

    return step


def nearby_attention() -> Step:
    """Return attention of each pixel to those around it."""
    query, key, value = (torch.rand(4, 32, 48, 48) for _ in range(3))

    @torch.inference_mode()
    def step() -> torch.Tensor:
        around = [
            functional.unfold(one, 3, padding=1).view(4, 32, 9, 2304).permute(0, 3, 1, 2)
            for one in (key, value)
        ]
        own = query.flatten(2).transpose(1, 2).unsqueeze(2)
        chance = torch.matmul(own, around[0]).softmax(dim=-1)
        return torch.matmul(chance, around[1].transpose(2, 3))

    return step


def weighted_experts() -> Step:
    """Return training of experts that all count for each row, by weights."""
    experts = nn.ModuleList(perceptron(128, 256, 128) for _ in range(4))
    gate, head = nn.Linear(128, 4), nn.Linear(128, 8)
    inputs, labels = torch.rand(1024, 128), torch.randint(8, (1024,))
    weights = [*experts.parameters(), *gate.parameters(), *head.parameters()]
    adam = torch.optim.Adam(weights, fused=True)

    def step() -> None:
        adam.zero_grad()
        every = torch.stack([expert(inputs) for expert in experts], dim=1)
        mixed = torch.einsum("ne,ned->nd", gate(inputs).softmax(dim=-1), every)
        functional.cross_entropy(head(mixed), labels).backward()
        adam.step()

    return step


def critics_in_turn() -> Step:
    """Return two critics of equal layers, each with its own limit, update and reset memory."""
    critics = [perceptron(64, 1024, 1024, 1).to(DEVICE) for _ in range(2)]
    adams = [torch.optim.Adam(one.parameters(), fused=True) for one in critics]
    pairs, goals = torch.rand(128, 64).to(DEVICE), torch.rand(128, 1).to(DEVICE)

    def step() -> None:
        for adam in adams:
            adam.zero_grad(set_to_none=False)
        for critic, adam in zip(critics, adams, strict=True):
            functional.mse_loss(critic(pairs), goals).backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
            adam.step()

    return step


def limits_of_layers() -> Step:
    """Return training whose layers each have a limit of their gradients, behind two parts."""
    layers = [nn.Linear(512, 512) for _ in range(4)]
    model = nn.Sequential(*layers).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    parts = [torch.rand(128, 512).to(DEVICE) for _ in range(2)]

    def step() -> None:
        adam.zero_grad()
        for part in parts:
            model(part).square().mean().backward()
        for layer in layers:
            nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        adam.step()

    return step


def heard_worlds() -> Step:
    """Return an actor whose world is simulated in Python, number by number."""
    actor = perceptron(64, 512, 512, 4)
    state = [[0.01 * place for place in range(64)] for _ in range(256)]

    @torch.inference_mode()
    def step() -> None:
        nonlocal state
        moves = actor(torch.tensor(state)).tanh().tolist()
        state = [[one + 0.1 * move[0] for one in row] for row, move in zip(state, moves)]  # noqa: B905

    return step


def low_rank_inverse() -> Step:
    """Return the determinant of a unit matrix and a low rank, by the smaller matrix."""
    left, right = torch.rand(512, 2048) / 2048, torch.rand(2048, 512)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        return torch.logdet(torch.addmm(torch.eye(512), left, right))

    return step


def repeated_layer() -> Step:
    """Return rows after as many rounds of one layer as each row needs."""
    layer, gate = nn.Linear(256, 256), nn.Linear(256, 1)
    inputs = torch.rand(1024, 256)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        depth = (5 - (gate(inputs) > 0).long()).unsqueeze(-1).expand(-1, 1, 256)
        hidden, every = inputs, []
        for _ in range(6):
            hidden = functional.gelu(layer(hidden))
            every.append(hidden)
        return torch.stack(every, dim=1).gather(1, depth)

    return step


def letters_beside_memory() -> Step:
    """Return letters that follow each other, beside a memory of as many numbers."""
    letters, layer = nn.Embedding(96, 128), perceptron(128, 256, 128)
    texts, memory = torch.randint(96, (32, 128)), torch.rand(32, 128, 128)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        found = letters(texts)
        steps = found[:, 1:] - found[:, :-1]
        return layer(memory)[:, 1:] + steps

    return step


def slow_teacher() -> Step:
    """Return training beside a teacher whose weights follow those of the student."""
    student = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    )  # fmt: skip
    teacher = copy.deepcopy(student).eval().requires_grad_(False)
    sgd = torch.optim.SGD(student.parameters(), lr=0.1, fused=True)
    pictures = torch.rand(8, 3, 32, 32)
    pairs = list(zip(teacher.parameters(), student.parameters(), strict=True))

    def step() -> None:
        sgd.zero_grad()
        functional.mse_loss(student(pictures), teacher(pictures)).backward()
        sgd.step()
        with torch.no_grad():
            torch._foreach_lerp_([own for own, _ in pairs], [new for _, new in pairs], 0.01)  # type: ignore[attr-defined]

    return step


PROGRAMS: tuple[RightProgram, ...] = (
    RightProgram(likely_words.__name__, "words with their chances", HOST, likely_words, FULL),
    RightProgram(reported_chances.__name__, "classes and chances", DEVICE, reported_chances, FULL),
    RightProgram(bent_and_mean.__name__, "a bent part and a mean", HOST, bent_and_mean, FULL),
    RightProgram(small_additions.__name__, "narrow additions", HOST, small_additions, FULL),
    RightProgram(put_back_in_rows.__name__, "rows put back", HOST, put_back_in_rows, FULL),
    RightProgram(nearby_attention.__name__, "attention nearby", HOST, nearby_attention, SHAPES),
    RightProgram(weighted_experts.__name__, "experts by weights", HOST, weighted_experts, FULL),
    RightProgram(critics_in_turn.__name__, "critics in turn", DEVICE, critics_in_turn, FULL),
    RightProgram(limits_of_layers.__name__, "limits of layers", DEVICE, limits_of_layers, FULL),
    RightProgram(heard_worlds.__name__, "a world in Python", HOST, heard_worlds, FULL),
    RightProgram(low_rank_inverse.__name__, "a determinant", HOST, low_rank_inverse, FULL),
    RightProgram(repeated_layer.__name__, "a layer in rounds", HOST, repeated_layer, FULL),
    RightProgram(letters_beside_memory.__name__, "letters", HOST, letters_beside_memory, FULL),
    RightProgram(slow_teacher.__name__, "a teacher's average", HOST, slow_teacher, FULL),
)
