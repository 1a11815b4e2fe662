"""Ordinary faults of scripts for a device, by an author who knew no rule's code."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from io import StringIO
from typing import Final

import numpy as np
import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, SHORT, planted
from benchmarks.planted.tuned_on_device import fused_attention

DEVICE: Final = "refdev"
LIMIT: Final = 1024
"""Places of the longest text."""


class Variational(nn.Module):
    """An autoencoder with a normal code, and a classifier of the code."""

    def __init__(self, inputs: int = 512, width: int = 320, code: int = 32) -> None:
        super().__init__()
        self.encode = nn.Sequential(
            nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 2 * code),
        )  # fmt: skip
        self.decode = nn.Sequential(
            nn.Linear(code, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, inputs),
        )  # fmt: skip
        self.classify = nn.Linear(code, 10)

    def losses(self, rows: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the parts of the loss by name."""
        mean, spread = self.encode(rows).chunk(2, dim=1)
        code = torch.addcmul(mean, torch.randn_like(mean), torch.exp(0.5 * spread))
        divergence = (mean.square() + spread.exp() - 1 - spread).mean()
        return {
            "rebuilt": functional.mse_loss(self.decode(code), rows),
            "divergence": 0.01 * divergence,
            "class": functional.cross_entropy(self.classify(mean), labels),
        }


def losses_in_progress_bar() -> Forms:
    """Read each part of the loss in each step for a line of progress, or sum on the device."""
    rows, labels = torch.rand(96, 512).to(DEVICE), torch.randint(10, (96,)).to(DEVICE)

    def training(note: Callable[[dict[str, torch.Tensor]], None]) -> Step:
        model = Variational().to(DEVICE)
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            losses = model.losses(rows, labels)
            total = torch.stack(list(losses.values())).sum()
            note(losses)
            adam.zero_grad()
            total.backward()
            adam.step()

        return step

    seen: defaultdict[str, list[float]] = defaultdict(list)
    bar = StringIO()
    sums = torch.zeros(3, device=DEVICE)

    def postfix(losses: dict[str, torch.Tensor]) -> None:
        for name, loss in losses.items():
            seen[name].append(loss.item())
        means = (f"{name} {np.mean(values[-50:]):.4f}" for name, values in seen.items())
        bar.seek(0)
        bar.write("  ".join(means))

    def summed(losses: dict[str, torch.Tensor]) -> None:
        sums.add_(torch.stack([loss.detach() for loss in losses.values()]))

    return Forms(training(postfix), training(summed))


def turning(places: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines (places, width) of rotary positions, made on the device."""
    rates = 10_000.0 ** -(torch.arange(0, width, 2, device=DEVICE).float() / width)
    angles = torch.outer(torch.arange(places, device=DEVICE).float(), rates)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def turned(states: torch.Tensor, table: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Return queries or keys (texts, heads, places, width), turned by their places."""
    first, second = states.chunk(2, dim=-1)
    return states * table[0] + torch.cat((-second, first), dim=-1) * table[1]


class Turning(nn.Module):
    """A layer with rotary attention; without a table it makes its own in each call."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.outputs = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 3 * width), nn.SiLU(), nn.Linear(3 * width, width)
        )

    def forward(
        self, states: torch.Tensor, table: tuple[torch.Tensor, torch.Tensor] | None
    ) -> torch.Tensor:
        """Return the next states (texts, places, width)."""
        parts = self.inputs(self.before(states)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        cosines, sines = table or turning(LIMIT, query.shape[3])
        here = cosines[: query.shape[2]], sines[: query.shape[2]]
        mixed = fused_attention(turned(query, here), turned(key, here), value, causal=True)
        states = states + self.outputs(mixed.transpose(1, 2).flatten(2))
        return states + self.perceptron(self.between(states))


def tables_in_each_layer() -> Forms:
    """Make the tables of rotary positions in each layer, or once when the model is loaded."""
    text = torch.randint(1000, (2, 65)).to(DEVICE)

    def scoring(shared: bool) -> Step:
        words = nn.Embedding(1000, 128).to(DEVICE)
        layers = nn.ModuleList(Turning(128, 2) for _ in range(8)).to(DEVICE)
        table = turning(LIMIT, 64) if shared else None

        @torch.no_grad()
        def step() -> torch.Tensor:
            states = words(text[:, :-1])
            for layer in layers:
                states = layer(states, table)
            scores = functional.linear(states, words.weight)
            return functional.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())

        return step

    return Forms(scoring(False), scoring(True))


class WrittenAdam(torch.optim.Optimizer):
    """Adam as a paper's code has it: one parameter after the other."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(parameters, {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-8})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Change each parameter by its gradient."""
        for group in self.param_groups:
            (first, second), eps = group["betas"], group["eps"]
            for parameter in group["params"]:
                state, gradient = self.state[parameter], parameter.grad
                if not state:
                    state.update(step=0, mean=torch.zeros_like(parameter))
                    state["square"] = torch.zeros_like(parameter)
                state["step"] += 1
                state["mean"].mul_(first).add_(gradient, alpha=1 - first)
                state["square"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
                mean = state["mean"] / (1 - first ** state["step"])
                square = state["square"] / (1 - second ** state["step"])
                parameter.add_(mean / (square.sqrt() + eps), alpha=-group["lr"])


def optimizer_from_paper() -> Forms:
    """Update a time series model by an optimizer written by hand, or by the library's fused one."""
    series = torch.rand(64, 128).to(DEVICE)

    class Blocks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(
                nn.Sequential(
                    nn.Linear(96, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU(),
                    nn.Linear(192, 128),
                )
                for _ in range(5)
            )  # fmt: skip

        def forward(self, history: torch.Tensor) -> torch.Tensor:
            rest, forecast = history, torch.zeros_like(history[:, :32])
            for block in self.blocks:
                back, ahead = block(rest).split((96, 32), dim=1)
                rest, forecast = rest - back, forecast + ahead
            return forecast

    def form(by_hand: bool) -> Step:
        model = Blocks().to(DEVICE)
        optimizer: torch.optim.Optimizer
        if by_hand:
            optimizer = WrittenAdam(model.parameters(), lr=1e-3)
        else:
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            loss = functional.l1_loss(model(series[:, :96]), series[:, 96:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        return step

    return Forms(form(True), form(False))


class Clicks(nn.Module):
    """A recommender: one table for all fields, and a perceptron."""

    offsets: torch.Tensor

    def __init__(self, fields: int = 10, rows: int = 500, width: int = 24) -> None:
        super().__init__()
        self.register_buffer("offsets", rows * torch.arange(fields))
        self.table = nn.Embedding(fields * rows, width)
        self.perceptron = nn.Sequential(
            nn.Linear(fields * width, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )  # fmt: skip

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return a score for each row (rows, fields)."""
        scores: torch.Tensor = self.perceptron(self.table(values + self.offsets).flatten(1))
        return scores.squeeze(1)


def area_under_curve(scores: np.ndarray, clicked: np.ndarray) -> float:
    """Return the share of pairs of a click and none that have the right order."""
    ranks = np.empty(len(scores))
    ranks[scores.argsort(kind="stable")] = np.arange(1, len(scores) + 1)
    positive = clicked > 0
    count = int(positive.sum())
    above = ranks[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(scores) - count)))


def curve_of_each_batch() -> Forms:
    """Bring scores to the host for a metric of the last batches, or keep them for later."""
    values = torch.randint(500, (384, 10)).to(DEVICE)
    clicked = (torch.rand(384) < 0.2).float().to(DEVICE)
    window = 20

    def form(each: bool) -> Step:
        model, areas = Clicks().to(DEVICE), []
        last: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=window)
        kept = torch.zeros(window, len(values), device=DEVICE)
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
        done = 0

        def step() -> None:
            nonlocal done
            scores = model(values)
            loss = functional.binary_cross_entropy_with_logits(scores, clicked)
            adam.zero_grad()
            loss.backward()
            adam.step()
            if each:
                chances = torch.sigmoid(scores).detach().cpu().numpy()
                last.append((chances, clicked.cpu().numpy()))
                areas.append(area_under_curve(*map(np.concatenate, zip(*last, strict=True))))
            else:
                kept[done % window] = scores.detach()  # read at the end of an epoch
            done += 1

        return step

    return Forms(form(True), form(False))


def body_left_trainable() -> Forms:
    """Train a head alone by its optimizer, with or without gradients of the body below."""
    rows, labels = torch.rand(64, 256).to(DEVICE), torch.randint(20, (64,)).to(DEVICE)

    def fine_tune(frozen: bool) -> Step:
        body = nn.Sequential(
            nn.Linear(256, 384), nn.LayerNorm(384), nn.GELU(),
            nn.Linear(384, 384), nn.LayerNorm(384), nn.GELU(), nn.Linear(384, 256),
        ).to(DEVICE)  # fmt: skip
        head = nn.Sequential(
            nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 20)
        ).to(DEVICE)
        body.eval().requires_grad_(not frozen)
        adam = torch.optim.AdamW(head.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            loss = functional.cross_entropy(head(body(rows)), labels)
            adam.zero_grad()
            loss.backward()
            adam.step()

        return step

    return Forms(fine_tune(False), fine_tune(True))


def guided_in_two_passes() -> Forms:
    """Sample by guidance with two passes of the denoiser in each step, or with one for both."""
    noise, label = torch.randn(6, 96).to(DEVICE), torch.randint(10, (6,)).to(DEVICE)
    none = torch.full_like(label, 10)
    levels = torch.linspace(0.95, 0.05, 5).tolist()

    class Guided(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.labels, self.inputs = nn.Embedding(11, 320), nn.Linear(97, 320)
            self.middle = nn.ModuleList(
                nn.Sequential(nn.LayerNorm(320), nn.Linear(320, 640), nn.SiLU(),
                              nn.Linear(640, 320))
                for _ in range(2)
            )  # fmt: skip
            self.outputs = nn.Linear(320, 96)

        def forward(
            self, latents: torch.Tensor, level: float, labels: torch.Tensor
        ) -> torch.Tensor:
            hidden = self.inputs(functional.pad(latents, (0, 1), value=level))
            hidden = hidden + self.labels(labels)
            for block in self.middle:
                hidden = hidden + block(hidden)
            found: torch.Tensor = self.outputs(hidden)
            return found

    def sampling(at_once: bool) -> Step:
        model, both = Guided().to(DEVICE).eval(), torch.cat((label, none))

        @torch.no_grad()
        def step() -> torch.Tensor:
            latents = noise
            for level in levels:
                if at_once:
                    given, free = model(latents.repeat(2, 1), level, both).chunk(2)
                else:
                    given, free = model(latents, level, label), model(latents, level, none)
                latents = latents - 0.2 * torch.lerp(free, given, 4.0)
            return latents

        return step

    return Forms(sampling(False), sampling(True))


PAIRS: Final = (
    planted("losses_in_progress_bar", "losses read in each step", losses_in_progress_bar,
            settings=FASTER),
    planted("tables_in_each_layer", "rotary tables made in each layer", tables_in_each_layer,
            settings=SHORT),
    planted("optimizer_from_paper", "Adam by hand", optimizer_from_paper, settings=FASTER),
    planted("curve_of_each_batch", "a metric on the host in each step", curve_of_each_batch,
            settings=FASTER),
    planted("body_left_trainable", "gradients of a body that stays", body_left_trainable,
            settings=FASTER),
    planted("guided_in_two_passes", "guidance by two passes", guided_in_two_passes,
            settings=FASTER),
)  # fmt: skip
