"""Right programs on a host in which what comes next needs what came before."""

from __future__ import annotations

from typing import Final

import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import FULL, RightProgram
from benchmarks.planted.right_on_host import perceptron

HOST: Final = "cpu"


def words_by_beams() -> Step:
    """Return words that four beams choose, each by the last three words of its beam."""
    words, scorer = nn.Embedding(500, 64), perceptron(3 * 64, 256, 500)
    model = nn.Sequential(words, nn.Flatten(1), scorer).eval()
    begin = torch.randint(500, (4, 3))

    @torch.inference_mode()
    def step() -> torch.Tensor:
        known, total = begin, torch.zeros(4, 1)
        for _ in range(20):
            every = total + model(known[:, -3:]).log_softmax(1)
            total, place = every.flatten().topk(4)
            total = total.unsqueeze(1)
            known = torch.cat((known[place // 500], (place % 500).unsqueeze(1)), 1)
        return known

    return step


def refined_by_itself() -> Step:
    """Return a flow that a module refines twelve times, each time from its own result."""
    refiner = nn.Sequential(
        nn.Conv2d(2, 16, 3, padding=1), nn.GELU(), nn.Conv2d(16, 2, 3, padding=1)
    )
    flow = torch.rand(1, 2, 24, 24)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        found = flow
        for _ in range(12):
            found = found + 0.1 * refiner(found)
        return found

    return step


def one_layer_many_times() -> Step:
    """Return training of a model whose six layers have the same weights."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    head, inputs = nn.Linear(64, 8), torch.rand(4, 24, 64)
    labels = torch.randint(8, (4,))
    adam = torch.optim.Adam([*layer.parameters(), *head.parameters()], fused=True)

    def step() -> None:
        adam.zero_grad()
        hidden = inputs
        for _ in range(6):
            hidden = layer(hidden)
        functional.cross_entropy(head(hidden.mean(1)), labels).backward()
        adam.step()

    return step


def aligned_by_cells() -> Step:
    """Return costs of alignments of 512 pairs: each cell needs its left and its upper neighbors."""
    apart = torch.rand(16, 16, 512)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        above = apart[0].cumsum(0)
        for b in range(1, 16):
            left, row = above[0] + apart[b, 0], []
            row.append(left)
            for c in range(1, b):
                cost = apart[b, c]
                left = torch.minimum(left, torch.minimum(above[c], above[c - 1])) + cost
                row.append(left)
            above = torch.stack([*row, *above[len(row) :]])
        return above[-1]

    return step


class Spiking(nn.Module):
    """Neurons that keep what they heard, until they fire."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.heard, self.own = nn.Linear(width, width), nn.Linear(width, width)
        self.head = nn.Linear(width, out)
        self.charge = torch.zeros(())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores at a time."""
        charge = self.heard(x) + 0.9 * self.own(self.charge)
        fired = charge > 0.3
        self.charge = torch.where(fired, charge - 0.3, charge)
        return self.head(self.charge)  # type: ignore[no-any-return]


def neurons_that_fire() -> Step:
    """Return scores of neurons, time after time: their charge stays in the module."""
    model = Spiking(64, 4).eval()
    sounds = [torch.rand(4, 64) for _ in range(24)]

    @torch.inference_mode()
    def step() -> torch.Tensor:
        model.charge = torch.zeros(4, 64)
        return torch.stack([model(sound) for sound in sounds]).sum(0)

    return step


class NormedCell(nn.Module):
    """A recurrent cell with a norm of its own, and the words that follow."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words, self.own = nn.Embedding(words, width), nn.Linear(width, width)
        self.read, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, word: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores of the next word, and the state."""
        state = torch.tanh(self.norm(self.read(self.words(word)) + self.own(state)))
        return self.head(state), state


def read_by_own_cell() -> Step:
    """Return scores of words, read one after the other by a cell that torch does not have."""
    cell, text = NormedCell(300, 96).eval(), torch.randint(300, (8, 32))

    @torch.inference_mode()
    def step() -> torch.Tensor:
        state, found = torch.zeros(8, 96), []
        for word in text.unbind(1):
            scores, state = cell(word, state)
            found.append(scores)
        return torch.stack(found, 1)

    return step


def attended_by_state() -> Step:
    """Return a decoder whose cell reads what its last state attends to."""
    cell, ask = nn.GRUCell(64, 64), nn.Linear(64, 64)
    notes = torch.rand(8, 40, 64)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        state = torch.zeros(8, 64)
        found = []
        for _ in range(24):
            weight = torch.bmm(notes, ask(state).unsqueeze(2)).softmax(1)
            state = cell(torch.bmm(weight.mT, notes).squeeze(1), state)
            found.append(state)
        return torch.stack(found)

    return step


def judged_with_both_weights() -> Step:
    """Return the answers of a model with its own weights, and with their average swapped in."""
    model = perceptron(64, 256, 256, 10).eval()
    weights: list[torch.Tensor] = [one.detach() for one in model.parameters()]
    averages, kept = ([one.clone() for one in weights] for _ in range(2))
    rows = torch.rand(16, 64)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        own = model(rows)
        torch._foreach_copy_(weights, averages)
        steady = model(rows)
        torch._foreach_copy_(weights, kept)
        return own.softmax(1) - steady.softmax(1)

    return step


def asked_of_members() -> Step:
    """Return the spread of an ensemble's answers: its members are one module with other weights."""
    model = perceptron(64, 256, 256, 10).eval()
    members = [
        {name: torch.rand_like(one) / 16 for name, one in model.named_parameters()}
        for _ in range(6)
    ]
    rows = torch.rand(16, 64)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        answers = [torch.func.functional_call(model, one, (rows,)) for one in members]
        return torch.stack(answers).std(0)

    return step


PROGRAMS: Final = tuple(
    RightProgram(build.__name__, what, HOST, build, FULL)
    for build, what in (
        (words_by_beams, "words by beams"),
        (refined_by_itself, "a flow refined by itself"),
        (one_layer_many_times, "one layer six times"),
        (aligned_by_cells, "alignments cell by cell"),
        (neurons_that_fire, "neurons that fire"),
        (read_by_own_cell, "words by a cell of one's own"),
        (judged_with_both_weights, "a model and its average"),
        (asked_of_members, "members of an ensemble"),
        (attended_by_state, "attention by a state"),
    )
)
