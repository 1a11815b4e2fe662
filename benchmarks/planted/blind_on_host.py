"""Faults of the host beside a device, planted by an author who has not read the rules."""

from __future__ import annotations

import copy
import io
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.blind_on_device import inferred
from benchmarks.planted.fault import FASTER, planted
from benchmarks.planted.programs import Network, training
from benchmarks.planted.tuned_on_device import DEVICE, dense_network

USUAL: Final[Mapping[str, float]] = {"bandwidth_gb_per_s": 8, "throughput_gflop_per_s": 20}
"""The reference device as it comes."""

QUICK: Final[Mapping[str, float]] = {"bandwidth_gb_per_s": 32, "throughput_gflop_per_s": 120}
"""A device that is done before the host has launched the next kernel."""


class Denoiser(nn.Module):
    """Takes noise from flat pictures at a time."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.times = nn.Embedding(1000, width)
        self.inner, self.outer = nn.Linear(size, width), nn.Linear(width, size)
        self.between = nn.Linear(width, width)

    def forward(self, pixels: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        """Return the noise."""
        hidden = functional.silu(self.inner(pixels) + self.times(time))
        noise: torch.Tensor = self.outer(functional.silu(self.between(hidden)))
        return noise


def looked_up_time() -> Forms:
    """Look for the place of each time in the schedule, as pipelines do, or count the places."""
    model = Denoiser(256, 320).to(DEVICE)
    times = torch.arange(990, -1, -90).to(DEVICE)
    shares = torch.linspace(0.99, 0.1, len(times) + 1).to(DEVICE)
    noise = torch.rand(8, 256).to(DEVICE)

    def form(looks: bool) -> Step:
        def place_of(time: torch.Tensor, number: int) -> int:
            return int((times == time).nonzero().item()) if looks else number

        @torch.no_grad()
        def step() -> torch.Tensor:
            pixels = noise
            for number, time in enumerate(times.unbind(0)):
                found = model(pixels, time)
                place = place_of(time, number)
                pixels = torch.lerp(pixels, found, shares[place] - shares[place + 1])
            return pixels

        return step

    return Forms(form(True), form(False))


def logged_norms() -> Forms:
    """Write the norms of all gradients into a log in each step, or do not."""
    log = logging.getLogger("benchmarks.planted")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(logging.StreamHandler(io.StringIO()))

    def form(writes: bool) -> Step:
        model = Network(blocks=4)

        def write(loss: torch.Tensor) -> None:
            grads = [each.grad for each in model.parameters() if each.grad is not None]
            norms = torch.stack(list(torch._foreach_norm(grads)))
            log.info("loss %s, norms %s", loss.detach(), norms)

        return training(
            model, DEVICE, tokens=12, after_backward=write if writes else None
        )  # fmt: skip

    return Forms(form(True), form(False))


def anomaly_mode() -> Forms:
    """Search each gradient for numbers that are none, or do not."""
    step = training(Network(blocks=4), DEVICE, tokens=16)
    return Forms(
        step, step,
        enter=(
            lambda: torch.autograd.set_detect_anomaly(True),
            lambda: torch.autograd.set_detect_anomaly(False),
        ),
    )  # fmt: skip


def penalty_by_hand() -> Forms:
    """Add the squares of all weights to the loss, or decay them in the optimizer."""

    def form(by_hand: bool) -> Step:
        model = Network(blocks=4).to(DEVICE)
        sgd = torch.optim.SGD(
            model.parameters(), lr=1e-3, weight_decay=0 if by_hand else 2e-4, fused=True
        )

        def loss(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            value = functional.cross_entropy(scores, targets)
            if by_hand:
                for parameter in model.parameters():
                    value = value + 1e-4 * parameter.pow(2).sum()
            return value

        return training(model, DEVICE, loss=loss, optimizer=sgd, tokens=24)

    return Forms(form(True), form(False))


def copied_model() -> Forms:
    """Copy the model after each step, to go back to it if the loss is no number; or do not."""

    def form(copies: bool) -> Step:
        model = Network(blocks=4)
        kept: list[nn.Module] = []

        def keep(_: torch.Tensor) -> None:
            kept[:] = [copy.deepcopy(model)]

        return training(model, DEVICE, tokens=16, after_backward=keep if copies else None)

    return Forms(form(True), form(False))


def filters(count: int, bins: int, rate: int = 16_000) -> torch.Tensor:
    """Return triangles of equal width on the mel scale, one for each column."""
    frequencies = torch.linspace(0, rate / 2, bins)
    highest = 2595 * np.log10(1 + rate / 2 / 700)
    places = 700 * (10 ** (torch.linspace(0, highest, count + 2) / 2595) - 1)
    slopes = places[None] - frequencies[:, None]
    widths = places.diff()
    rising, falling = -slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]
    return torch.minimum(rising, falling).clamp_min(0.0)


def filters_in_each_step() -> Forms:
    """Make the filters of speech features in each step, or keep them on the device."""
    power, labels = torch.rand(96, 1025).to(DEVICE), torch.randint(40, (96,)).to(DEVICE)
    kept = filters(80, 1025).to(DEVICE)

    def form(makes: bool) -> Step:
        model = dense_network(80, 96, 40)

        def batch() -> tuple[torch.Tensor, torch.Tensor]:
            bank = filters(80, 1025).to(DEVICE) if makes else kept
            return torch.log(power @ bank + 1e-6), labels

        return training(model, DEVICE, batch=batch)

    return Forms(form(True), form(False))


def one_environment() -> Forms:
    """Ask the policy for the action of each environment, or of all together."""
    count, size = 8, 24
    policy = dense_network(size, 256, 256, 6)
    generator = np.random.default_rng(0)
    moves = generator.standard_normal((6, size)).astype(np.float32)

    def act(states: np.ndarray) -> list[int]:
        scores = policy(torch.from_numpy(states).to(DEVICE))
        actions: list[int] = scores.argmax(dim=-1).tolist()
        return actions

    def form(together: bool) -> Step:
        states = generator.standard_normal((count, size)).astype(np.float32)

        @torch.no_grad()
        def step() -> np.ndarray:
            for _ in range(6):
                if together:
                    actions = act(states)
                else:
                    actions = [act(states[i : i + 1])[0] for i in range(count)]
                states[:] = np.tanh(states + moves[actions])
            return states

        return step

    return Forms(form(False), form(True))


def list_of_arrays() -> Forms:
    """Make a batch of a replay buffer from a list of arrays, or stack them before."""
    generator = np.random.default_rng(0)
    buffer = [generator.standard_normal(256).astype(np.float32) for _ in range(1000)]
    targets = torch.rand(96, 6).to(DEVICE)

    def form(stacks: bool) -> Step:
        model = dense_network(256, 256, 256, 6)
        adam = torch.optim.Adam(model.parameters(), fused=True)

        def batch() -> tuple[torch.Tensor, torch.Tensor]:
            chosen = [buffer[i] for i in generator.integers(1000, size=96)]
            states = torch.from_numpy(np.stack(chosen)) if stacks else torch.tensor(chosen)
            return states.to(DEVICE, non_blocking=True), targets

        return training(model, DEVICE, batch=batch, loss=functional.mse_loss, optimizer=adam)

    return Forms(form(False), form(True))


def augmented(pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return pictures that are shifted, mirrored and scaled one by one."""
    done = np.empty_like(pictures)
    for i, picture in enumerate(pictures):
        down, right = generator.integers(9, size=2)
        padded = np.pad(picture, ((0, 0), (4, 4), (4, 4)), mode="reflect")
        part = padded[:, down : down + 32, right : right + 32]
        part = part[:, :, ::-1] if generator.random() < 0.5 else part
        done[i] = (part - part.mean()) / (part.std() + 1e-6)
    return done


def augmented_one_by_one() -> Forms:
    """Augment pictures one by one in numpy between the steps, or have them ready."""
    generator = np.random.default_rng(0)
    pictures = generator.random((48, 3, 32, 32), dtype=np.float32)
    labels = torch.randint(10, (48,)).to(DEVICE)

    def form(augments: bool) -> Step:
        model = dense_network(3072, 96, 10)

        def batch() -> tuple[torch.Tensor, torch.Tensor]:
            ready = augmented(pictures, generator) if augments else pictures
            return torch.from_numpy(ready).to(DEVICE, non_blocking=True).flatten(1), labels

        return training(model, DEVICE, batch=batch)

    return Forms(form(True), form(False))


def table_for_each() -> Forms:
    """Look up each feature of a click in a table of its own, or all in one table."""
    features, rows, width, batch = 26, 500, 16, 48
    numbers = torch.randint(rows, (batch, features)).to(DEVICE)
    starts = (torch.arange(features) * rows).to(DEVICE)
    top = dense_network(features * width, 128, 1)

    def form(lookup: Callable[[], torch.Tensor]) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            chances: torch.Tensor = top(lookup()).sigmoid()
            return chances

        return step

    tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(features)).to(DEVICE)
    whole = nn.Embedding(rows * features, width).to(DEVICE)
    return Forms(
        form(lambda: torch.cat([table(numbers[:, i]) for i, table in enumerate(tables)], dim=1)),
        form(lambda: whole(numbers + starts).flatten(1)),
    )


def hooked_outputs() -> Forms:
    """Take the output of each layer to the host by a hook, to plot it; or do not."""
    inputs, targets = torch.rand(48, 192).to(DEVICE), torch.rand(48, 192).to(DEVICE)

    def form(is_hooked: bool) -> Step:
        model = dense_network(*[192] * 9)
        shown: dict[nn.Module, float] = {}

        def hook(module: nn.Module, _: object, output: torch.Tensor) -> None:
            shown[module] = float(output.detach().cpu().numpy().std())

        if is_hooked:
            for layer in model:
                layer.register_forward_hook(hook)
        return training(model, DEVICE, batch=lambda: (inputs, targets), loss=functional.mse_loss)

    return Forms(form(True), form(False))


def indexed_by_lists() -> Forms:
    """Choose the rows of each batch by a list of numbers, or by a tensor on the device."""
    data, goals = torch.rand(4000, 128).to(DEVICE), torch.rand(4000, 16).to(DEVICE)

    def form(by_list: bool) -> Step:
        model = dense_network(128, 96, 16)
        batches: list[Any] = [torch.randperm(4000)[:48] for _ in range(8)]
        batches = [each.tolist() if by_list else each.to(DEVICE) for each in batches]

        def step() -> None:
            for rows in batches:
                model.zero_grad()
                functional.mse_loss(model(data[rows]), goals[rows]).backward()

        return step

    return Forms(form(True), form(False))


FAULTS = (
    (looked_up_time, "the place of each time looked up", USUAL),
    (logged_norms, "norms of gradients written into a log", USUAL),
    (anomaly_mode, "gradients searched for anomalies", USUAL),
    (copied_model, "the model copied after each step", FASTER),
    (filters_in_each_step, "filters made in each step", USUAL),
    (list_of_arrays, "a tensor made of a list of arrays", USUAL),
    (augmented_one_by_one, "pictures augmented one by one", USUAL),
    (hooked_outputs, "outputs taken to the host by hooks", USUAL),
    (indexed_by_lists, "rows chosen by lists of numbers", USUAL),
    (table_for_each, "a table for each feature", QUICK),
)
BY_EVENTS = (
    (penalty_by_hand, "squares of all weights in the loss"),
    (one_environment, "environments asked one by one"),
)
PAIRS = (
    *(planted(build.__name__, what, build, DEVICE, speed) for build, what, speed in FAULTS),
    *(inferred(planted(build.__name__, what, build, DEVICE, USUAL)) for build, what in BY_EVENTS),
)
