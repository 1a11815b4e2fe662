"""Programs without a fault, by an author who has not read the rules."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Pair, Step
from benchmarks.planted.blind_on_device import Messages, Sentiment, inferred
from benchmarks.planted.fault import Device, tuned
from benchmarks.planted.programs import training
from benchmarks.planted.tuned_on_device import DEVICE, dense_network
from benchmarks.planted.tuned_on_host import channels_last, network
from benchmarks.planted.two_ranks import on_two_ranks

HOST: Final = "cpu"


def graph() -> Step:
    """Return training of a graph network that adds up neighbors by the list of edges."""
    nodes, edges, width = 2000, 6000, 96
    sources, targets = (torch.randint(nodes, (edges,)).to(DEVICE) for _ in range(2))
    first, goal = torch.rand(nodes, width).to(DEVICE), torch.rand(nodes, width).to(DEVICE)
    layers = nn.ModuleList(Messages(width) for _ in range(3)).to(DEVICE)
    adam = torch.optim.Adam(layers.parameters(), fused=True)

    def gather(states: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(states).index_add(0, targets, states.index_select(0, sources))

    def step() -> None:
        adam.zero_grad()
        states = first
        for layer in layers:
            states = layer(states, gather)
        functional.mse_loss(states, goal).backward()
        adam.step()

    return step


def policy() -> Step:
    """Return updates of a policy and a value from a rollout that is on the device."""
    count, size, actions = 512, 96, 8
    states = torch.rand(count, size).to(DEVICE)
    taken = torch.randint(actions, (count,)).to(DEVICE)
    advantages, goals = torch.rand(count).to(DEVICE), torch.rand(count, 1).to(DEVICE)
    body, head = dense_network(size, 512, 512, 512), nn.Linear(512, actions + 1).to(DEVICE)
    adam = torch.optim.Adam([*body.parameters(), *head.parameters()], fused=True)

    def step() -> None:
        for part in range(0, count, count // 2):
            rows = slice(part, part + count // 2)
            adam.zero_grad()
            both = head(functional.leaky_relu(body(states[rows])))
            each = functional.cross_entropy(both[:, :actions], taken[rows], reduction="none")
            loss = torch.dot(each, advantages[rows])
            (loss + functional.mse_loss(both[:, actions:], goals[rows])).backward()
            adam.step()

    return step


def sampling() -> Step:
    """Return the sampling of pictures, whose schedule is known on the host."""
    size, times = 384, 6
    shares = torch.linspace(0.9, 0.1, times).tolist()
    offsets = nn.Embedding(times, 768).to(DEVICE).weight.detach().unbind(0)
    inner, outer = nn.Linear(size, 768).to(DEVICE), dense_network(768, 768, size)
    noise = torch.rand(128, size).to(DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        pixels = noise
        for share, offset in zip(shares, offsets, strict=True):
            found = outer(functional.silu(inner(pixels) + offset))
            pixels = torch.lerp(pixels, found, share)
        return pixels

    return step


def speech() -> Step:
    """Return training of convolutions over time that write down what was said."""
    count, frames, letters = 8, 160, 32
    model = nn.Sequential(
        nn.Conv1d(80, 192, 5, stride=2, padding=2), nn.GELU(),
        nn.Conv1d(192, 192, 5, padding=2), nn.GELU(),
        nn.Conv1d(192, 192, 5, padding=2), nn.GELU(),
        nn.Conv1d(192, letters, 1),
    )  # fmt: skip
    features, said = torch.rand(count, 80, frames), torch.randint(1, letters, (count, 24))
    lengths, said_lengths = torch.full((count,), frames // 2), torch.full((count,), 24)
    adam = torch.optim.AdamW(model.parameters(), fused=True)

    def step() -> None:
        adam.zero_grad()
        chances = functional.log_softmax(model(features).permute(2, 0, 1), dim=-1)
        functional.ctc_loss(chances, said, lengths, said_lengths).backward()
        adam.step()

    return step


def accumulated() -> tuple[Step, ...]:
    """Return steps of one rank that average the gradients of all parts at once."""
    parts = [(torch.rand(64, 512), torch.randint(10, (64,))) for _ in range(4)]
    model = nn.parallel.DistributedDataParallel(network(512, 4), gradient_as_bucket_view=True)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)

    def step() -> None:
        sgd.zero_grad()
        for number, (inputs, targets) in enumerate(parts):
            apart = number < len(parts) - 1
            with model.no_sync() if apart else contextlib.nullcontext():
                functional.cross_entropy(model(inputs), targets).backward()
        sgd.step()

    return (step,)


def accumulation() -> Step:
    """Return training on two ranks with a batch in parts."""
    (step,) = on_two_ranks(accumulated)
    return step


def embedding() -> Step:
    """Return training of a picture's and a text's vectors, each to be the nearest of the other."""
    count, width = 192, 128
    pictures, texts = dense_network(512, 512, 512, width), dense_network(256, 512, 512, width)
    inputs = torch.rand(count, 512).to(DEVICE), torch.rand(count, 256).to(DEVICE)
    own = torch.arange(count, device=DEVICE)
    adam = torch.optim.AdamW([*pictures.parameters(), *texts.parameters()], fused=True)

    def step() -> None:
        adam.zero_grad()
        scores = pictures(inputs[0]) @ texts(inputs[1]).T
        loss = functional.cross_entropy(scores, own) + functional.cross_entropy(scores.T, own)
        loss.backward()
        adam.step()

    return step


def ranking() -> Step:
    """Return training of a transformer that ranks texts, all of the same length."""
    words, texts, length = 512, 8, 48
    model = Sentiment(words, 128).to(DEVICE)
    text = torch.randint(words, (texts, length)).to(DEVICE)
    weights = torch.full((texts, 1, length), 1 / length, device=DEVICE)
    labels = torch.randint(8, (texts,)).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    return training(model, DEVICE, batch=lambda: ((text, weights), labels), optimizer=adam)


def served_pictures() -> Step:
    """Return classes of pictures, by convolutions that have their norms in their weights."""
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, stride=2, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 100),
    ).eval()  # fmt: skip
    channels_last(model)
    pictures = torch.rand(16, 3, 64, 64).contiguous(memory_format=torch.channels_last)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        return torch.argmax(model(pictures), dim=-1)

    return step


def forecasts() -> Step:
    """Return training of a recurrent network, window by window."""
    windows, length, count, width = 3, 24, 16, 128
    inputs, targets = torch.rand(windows, length, count, width), torch.rand(windows, count, width)
    memory = nn.GRU(width, width)
    adam = torch.optim.Adam(memory.parameters(), fused=True)

    def step() -> None:
        state = torch.zeros(1, count, width)
        for window, target in zip(inputs, targets, strict=True):
            adam.zero_grad()
            _, state = memory(window, state.detach())
            functional.mse_loss(state[0], target).backward()
            adam.step()

    return step


_PROGRAMS: tuple[tuple[Callable[[], Step], str, Device], ...] = (
    (graph, "training of a graph network by its list of edges", DEVICE),
    (policy, "updates of a policy from a rollout", DEVICE),
    (embedding, "training of vectors of pictures and texts", DEVICE),
    (speech, "training of convolutions over time with CTC", HOST),
    (accumulation, "training on two ranks with a batch in parts", HOST),
    (served_pictures, "classes of pictures by convolutions", HOST),
    (forecasts, "training of a recurrent network by windows", HOST),
)
BY_EVENTS: tuple[tuple[Callable[[], Step], str], ...] = (
    (sampling, "sampling of pictures by diffusion"),
    (ranking, "training of a transformer that ranks texts"),
)
PAIRS: tuple[Pair, ...] = (
    *(tuned(build, what, device) for build, what, device in _PROGRAMS),
    *(inferred(tuned(build, what, DEVICE)) for build, what in BY_EVENTS),
)
