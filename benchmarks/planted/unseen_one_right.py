"""Right programs by the author of the unseen faults, who knew no rule's code."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import get_ema_multi_avg_fn

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import BARE, FULL, SHAPES, STACKS, RightProgram
from benchmarks.planted.tuned_on_device import fused_attention

HOST: Final = "cpu"
DEVICE: Final = "refdev"


def uncertain_answers() -> Step:
    """Return Monte Carlo dropout: the same inputs many times, dropout on, as the method wants."""
    inputs, draws = torch.rand(24, 64), 12
    model = nn.Sequential(
        nn.Linear(64, 384), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(384, 384), nn.ReLU(), nn.Dropout(0.2), nn.Linear(384, 8),
    ).train()  # fmt: skip

    @torch.inference_mode()
    def step() -> tuple[torch.Tensor, torch.Tensor]:
        chances = model(inputs.repeat(draws, 1)).softmax(-1).unflatten(0, (draws, -1))
        return chances.mean(0), chances.std(0)

    return step


def penalized_critic() -> Step:
    """Return a Wasserstein step: three updates of the critic, gradients of gradients, one more."""
    real, latent = torch.rand(48, 96), 24
    critic = nn.Sequential(
        nn.Linear(96, 256), nn.LeakyReLU(0.2), nn.Linear(256, 256), nn.LeakyReLU(0.2),
        nn.Linear(256, 1),
    )  # fmt: skip
    generator = nn.Sequential(nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, 96))
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9), fused=True)
    of_generator = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.0, 0.9), fused=True)

    def step() -> None:
        for _ in range(3):
            with torch.no_grad():
                fake = generator(torch.randn(48, latent))
            mixed = torch.lerp(real, fake, torch.rand(48, 1)).requires_grad_()
            (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
            penalty = (slope.norm(dim=1) - 1).square().mean()
            scores = critic(torch.cat((fake, real)))
            of_critic.zero_grad()
            (scores[:48].mean() - scores[48:].mean() + 10 * penalty).backward()
            of_critic.step()
        critic.requires_grad_(False)
        of_generator.zero_grad()
        (-critic(generator(torch.randn(48, latent))).mean()).backward()
        of_generator.step()
        critic.requires_grad_(True)

    return step


def gaussian_process() -> Step:
    """Return training of a process in float64, without which its matrix has no root."""
    places, seen = torch.rand(220, 3, dtype=torch.float64), torch.rand(220, dtype=torch.float64)
    scale = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    noise = nn.Parameter(torch.tensor(-6.0, dtype=torch.float64))
    adam = torch.optim.Adam((scale, noise), lr=0.01)
    unit = torch.eye(220, dtype=torch.float64)

    def step() -> torch.Tensor:
        scaled = places * scale.exp()
        kernel = torch.exp(-0.5 * torch.cdist(scaled, scaled).square()) + noise.exp() * unit
        root = torch.linalg.cholesky(kernel)
        white = torch.linalg.solve_triangular(root, seen.unsqueeze(1), upper=False)
        loss = 0.5 * white.square().sum() + root.diagonal().log().sum()
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def drawn_melody() -> Step:
    """Return notes that are drawn one after the other, each from the state after the last."""
    notes, voices, places = 96, 16, 24
    table, cell = nn.Embedding(notes, 128), nn.GRUCell(128, 256)
    head = nn.Linear(256, notes)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        state, note = torch.zeros(voices, 256), torch.zeros(voices, dtype=torch.long)
        melody = torch.empty(places, voices, dtype=torch.long)
        for place in range(places):
            state = cell(table(note), state)
            note = torch.multinomial(head(state).div_(0.9).softmax(-1), 1).squeeze(1)
            melody[place] = note
        return melody

    return step


def logged_and_saved_seldom() -> Step:
    """Return training that validates, reads its loss and copies its best weights on few steps."""
    inputs, targets = torch.rand(128, 200), torch.randint(12, (128,))
    held, answers = torch.rand(64, 200), torch.randint(12, (64,))
    model = nn.Sequential(
        nn.Linear(200, 320), nn.BatchNorm1d(320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(),
        nn.Linear(320, 12),
    )  # fmt: skip
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, 10_000)
    done, best, kept = itertools.count(1), math.inf, copy.deepcopy(model.state_dict())

    def step() -> None:
        nonlocal best, kept
        loss = functional.cross_entropy(model(inputs), targets, label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        schedule.step()
        if next(done) % 500 == 0:
            model.eval()
            with torch.no_grad():
                now = functional.cross_entropy(model(held), answers).item()
            model.train()
            if now < best:
                best, kept = now, copy.deepcopy(model.state_dict())

    return step


def steps_as_the_error_allows() -> Step:
    """Return an equation solved in steps whose length the error decides, so it must be read."""
    field = nn.Sequential(nn.Linear(96, 384), nn.Tanh(), nn.Linear(384, 96)).to(DEVICE)
    begin = torch.randn(256, 96).to(DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        state, time, length = begin, 0.0, 0.15
        slope = field(state)
        while time < 1.0:
            middle = field(state + 0.5 * length * slope)
            ahead = field(state + 0.75 * length * middle)
            result = state + length * (2 * slope + 3 * middle + 4 * ahead) / 9
            last = field(result)
            error = length * (-5 * slope / 72 + middle / 12 + ahead / 9 - last / 8)
            size = float(error.norm() / math.sqrt(error.numel()))
            if size < 1e-2:
                time, state, slope = time + length, result, last
            length = min(max(0.9 * length * (1e-2 / (size + 1e-12)) ** (1 / 3), 0.05), 0.3)
        return state

    return step


def contrast_with_a_queue() -> Step:
    """Return momentum contrast: a second encoder that follows, another view, a queue of keys."""
    width, kept, rows = 64, 1024, 64
    query = nn.Sequential(nn.Linear(256, 320), nn.ReLU(), nn.Linear(320, width)).to(DEVICE)
    key = copy.deepcopy(query).requires_grad_(False)
    followed, leading = list(key.parameters()), list(query.parameters())
    follow = get_ema_multi_avg_fn(0.99)
    queue = functional.normalize(torch.randn(kept, width), dim=1).to(DEVICE)
    pictures, first = torch.rand(rows, 256).to(DEVICE), torch.zeros(rows, dtype=torch.long)
    first, place = first.to(DEVICE), itertools.cycle(range(0, kept, rows))
    sgd = torch.optim.SGD(query.parameters(), lr=0.03, momentum=0.9, fused=True)

    def step() -> None:
        one = pictures + 0.1 * torch.randn_like(pictures)
        other = pictures + 0.1 * torch.randn_like(pictures)
        asked = functional.normalize(query(one), dim=1)
        with torch.no_grad():
            follow(followed, leading, 1)
            answers = functional.normalize(key(other), dim=1)
        right = (asked * answers).sum(1, keepdim=True)
        scores = torch.cat((right, asked @ queue.T), dim=1) / 0.07
        sgd.zero_grad()
        functional.cross_entropy(scores, first).backward()
        sgd.step()
        begin = next(place)
        queue[begin : begin + rows].copy_(answers)

    return step


def scored_with_saved_keys() -> Step:
    """Return eight words of text, each with the keys and values of all before kept in place."""
    width, heads, texts, limit = 192, 3, 8, 48
    words = nn.Embedding(800, width).to(DEVICE)
    inputs, outputs = nn.Linear(width, 3 * width).to(DEVICE), nn.Linear(width, width).to(DEVICE)
    norm = nn.LayerNorm(width).to(DEVICE)
    perceptron = nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
    ).to(DEVICE)
    keys = torch.randn(texts, heads, limit, width // heads).to(DEVICE)
    values = torch.randn(texts, heads, limit, width // heads).to(DEVICE)
    prompt = torch.randint(800, (texts, 1)).to(DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        word, found = prompt, []
        for place in range(40, limit):
            states = words(word)
            parts = inputs(norm(states)).unflatten(-1, (3, heads, -1))
            query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
            keys[:, :, place : place + 1].copy_(key)
            values[:, :, place : place + 1].copy_(value)
            upto = keys[:, :, : place + 1], values[:, :, : place + 1]
            mixed = fused_attention(query, *upto, causal=False)
            states = states + outputs(mixed.transpose(1, 2).flatten(2))
            states = states + perceptron(states)
            word = functional.linear(states[:, -1], words.weight).argmax(-1, keepdim=True)
            found.append(word)
        return torch.cat(found, dim=1)

    return step


PROGRAMS: Final = (
    RightProgram("uncertain_answers", "dropout on purpose, equal inputs", HOST,
                 uncertain_answers, FULL),
    RightProgram("penalized_critic", "gradients of gradients, several updates", HOST,
                 penalized_critic, STACKS),
    RightProgram("gaussian_process", "float64 for a root", HOST, gaussian_process, FULL),
    RightProgram("drawn_melody", "a recurrent loop of draws", HOST, drawn_melody, SHAPES),
    RightProgram("logged_and_saved_seldom", "training with all that goes with it, seldom", HOST,
                 logged_and_saved_seldom, FULL),
    RightProgram("steps_as_the_error_allows", "an error read at each step", DEVICE,
                 steps_as_the_error_allows, FULL),
    RightProgram("contrast_with_a_queue", "two encoders and a queue", DEVICE,
                 contrast_with_a_queue, STACKS),
    RightProgram("scored_with_saved_keys", "words with keys kept in place", DEVICE,
                 scored_with_saved_keys, BARE),
)  # fmt: skip
