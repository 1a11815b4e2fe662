"""Programs of CPU torch, one thread, before and after a fix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from benchmarks.pairs.pair import Forms, Pair, Step


class Pictures(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Pictures on the disk; reading one takes ``seconds`` of waiting, no core."""

    def __init__(self, features: int, seconds: float) -> None:
        self.one = torch.rand(features), torch.rand(8)
        self.seconds = seconds

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(self.seconds)
        return self.one


def batches(
    features: int, batch: int, seconds: float, workers: int
) -> Iterator[list[torch.Tensor]]:
    """Yield batches from a data loader, for as long as any measurement."""
    # A forked worker could not seed the reference device, which torch asks every one to do.
    context = "spawn" if workers else None
    data = Pictures(features, seconds)
    return iter(DataLoader(data, batch, num_workers=workers, multiprocessing_context=context))


def perceptron(features: int, hidden: int, layers: int) -> nn.Sequential:
    """Return a model of ``layers`` hidden layers, with eight outputs."""
    inner = [part for _ in range(layers) for part in (nn.Linear(hidden, hidden), nn.ReLU())]
    return nn.Sequential(nn.Linear(features, hidden), *inner, nn.Linear(hidden, 8))


def loss_of(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error."""
    return nn.functional.mse_loss(model(inputs), targets)


def data_loader() -> Forms:
    """Read a batch on the training thread, or with two workers."""

    def form(workers: int) -> Step:
        model = perceptron(256, 256, 24)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
        data = batches(256, 16, 250e-6, workers)

        def step() -> None:
            inputs, targets = next(data)
            optimizer.zero_grad()
            loss_of(model, inputs, targets).backward()
            optimizer.step()

        return step

    return Forms(form(0), form(2))


def zero_grad() -> Forms:
    """Fill gradients with zeros, or drop them."""

    def form(to_none: bool) -> Step:
        model = perceptron(384, 384, 20)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
        inputs, targets = torch.rand(8, 384), torch.rand(8, 8)

        def step() -> None:
            optimizer.zero_grad(set_to_none=to_none)
            loss_of(model, inputs, targets).backward()
            optimizer.step()

        return step

    return Forms(form(False), form(True))


def optimizer_foreach(device: str, layers: int) -> Forms:
    """Update one parameter at a time, or all in one call for each operation."""

    def form(foreach: bool) -> tuple[Step, Step]:
        model = perceptron(32, 32, layers).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=foreach)
        inputs, targets = torch.rand(16, 32).to(device), torch.rand(16, 8).to(device)

        def step() -> None:
            optimizer.zero_grad()
            loss_of(model, inputs, targets).backward()
            optimizer.step()

        return step, optimizer.step

    (before, loop), (after, foreach) = form(False), form(True)
    return Forms(before, after, part=(loop, foreach))


def optimizer_fused(device: str) -> Forms:
    """Update one parameter at a time, or all in one operator."""

    def form(fused: bool) -> tuple[Step, Step]:
        model = perceptron(64, 64, 20).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False, fused=fused)
        inputs, targets = torch.rand(16, 64).to(device), torch.rand(16, 8).to(device)

        def step() -> None:
            optimizer.zero_grad()
            loss_of(model, inputs, targets).backward()
            optimizer.step()

        return step, optimizer.step

    (before, loop), (after, fused) = form(False), form(True)
    return Forms(before, after, part=(loop, fused))


def larger_batch(device: str, width: int) -> Forms:
    """Train on a batch, or on one of twice its size."""

    def form(batch: int) -> Step:
        model = perceptron(width, width, 24).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
        inputs, targets = torch.rand(batch, width).to(device), torch.rand(batch, 8).to(device)

        def step() -> None:
            optimizer.zero_grad()
            loss_of(model, inputs, targets).backward()
            optimizer.step()

        return step

    return Forms(form(64), form(128))


class Attention(nn.Module):
    """Attention from products and a softmax."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the tokens, mixed."""
        batch, length, width = tokens.shape
        parts = self.inner(tokens).view(batch, length, self.heads, -1).transpose(1, 2)
        mixed = self.mix(*parts.chunk(3, dim=-1))
        return self.outer(mixed.transpose(1, 2).reshape(batch, length, width))

    def mix(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Return the values, weighted by the products of queries and keys."""
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        return scores.softmax(dim=-1) @ value


class FusedAttention(Attention):
    """The same in one operator."""

    def mix(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Return the same."""
        return nn.functional.scaled_dot_product_attention(query, key, value)


def fused_attention(
    fused_kind: type[Attention] = FusedAttention, device: str = "cpu", length: int = 192
) -> Forms:
    """Compute attention by hand, or in one operator."""

    def form(kind: type[Attention]) -> tuple[Step, Step]:
        attention = [kind(128, 4) for _ in range(2)]
        model = nn.Sequential(
            *(part for one in attention for part in (one, nn.Linear(128, 128), nn.ReLU()))
        ).to(device)
        tokens = torch.rand(2, length, 128).to(device).requires_grad_()

        def step() -> None:
            model.zero_grad()
            model(tokens).square().mean().backward()

        def part() -> None:
            attention[0].zero_grad()
            attention[0](tokens).backward(torch.ones_like(tokens))

        return step, part

    (before, by_hand), (after, fused) = form(Attention), form(fused_kind)
    return Forms(before, after, part=(by_hand, fused))


class Block(nn.Module):
    """Two layers and a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the inputs and what the layers make of them."""
        return inputs + self.layers(inputs)


def blocks(device: str, width: int, before: int, after: int) -> Forms:
    """Train a model of more blocks, or of fewer."""

    def form(count: int) -> Step:
        model = nn.Sequential(*(Block(width) for _ in range(count))).to(device)
        inputs = torch.rand(32, width).to(device)

        def step() -> None:
            model.zero_grad()
            model(inputs).square().mean().backward()

        return step

    return Forms(form(before), form(after))


def accumulation(device: str) -> Forms:
    """Update after every one of four batches, or once for all of them."""

    def form(every: int) -> Step:
        model = perceptron(64, 64, 6).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
        inputs, targets = torch.rand(16, 64).to(device), torch.rand(16, 8).to(device)

        def step() -> None:
            for number in range(4):
                loss_of(model, inputs, targets).backward()
                if (number + 1) % every == 0:
                    optimizer.step()
                    optimizer.zero_grad()

        return step

    return Forms(form(1), form(4))


class Chain(nn.Module):
    """Elementwise operators, one after the other."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return a function of each element."""
        hidden = inputs
        for _ in range(10):
            hidden = (hidden * 1.01 + inputs).clamp(-1, 1) - 0.5
        return hidden


def compiled() -> Forms:
    """Run elementwise operators one by one, or compiled into one."""
    inputs = torch.rand(128, 256)
    layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(8))

    def form(chain: Callable[[torch.Tensor], torch.Tensor]) -> tuple[Step, Step]:
        @torch.no_grad()
        def step() -> torch.Tensor:
            hidden = inputs
            for layer in layers:
                hidden = chain(layer(hidden))
            return hidden

        @torch.no_grad()
        def part() -> torch.Tensor:
            return chain(inputs)

        return step, part

    (before, eager), (after, fused) = form(Chain()), form(torch.compile(Chain()))
    return Forms(before, after, part=(eager, fused))


def no_stacks(device: str) -> Forms:
    """Train the same model; only the recording differs."""
    step = blocks(device, 128, 16, 16).before
    return Forms(step, step)


UPDATES = (
    "operator:Optimizer.step#Adam.step=0.25",
    "operator:Optimizer.zero_grad#Adam.zero_grad=0.25",
)
ZEROS = ("operator:Optimizer.zero_grad#SGD.zero_grad=0", "operator:aten::add_=0")
"""A gradient that was dropped is not added to either."""

ADAM = ("operator:Optimizer.step#Adam.step={part}",)

PREFETCH = 6
"""Steps for what the workers of a data loader prefetched while the other form ran."""

PAIRS = (
    Pair(
        "data_loader_cpu", "two data loader workers", "cpu", data_loader, ("data_loader=0",),
        warm_steps=PREFETCH,
    ),
    Pair("zero_grad_cpu", "gradients are dropped, not zeroed", "cpu", zero_grad, ZEROS),
    Pair(
        "optimizer_foreach_cpu", "a foreach optimizer", "cpu",
        lambda: optimizer_foreach("cpu", 44), ADAM,
    ),
    Pair(
        "optimizer_fused_cpu", "a fused optimizer", "cpu", lambda: optimizer_fused("cpu"), ADAM,
    ),
    Pair(
        "fused_attention_cpu", "attention in one operator", "cpu", fused_attention,
        ("module:Attention={part}",), stacks=True,
    ),
    Pair(
        "fewer_modules_cpu", "8 blocks of 12", "cpu", lambda: blocks("cpu", 224, 12, 8),
        tuple(f"module:Block_{i}=0" for i in range(8, 12)), stacks=True,
    ),
    Pair(
        "accumulation_cpu", "one update for four batches", "cpu", lambda: accumulation("cpu"),
        UPDATES,
    ),
    Pair(
        "compiled_cpu", "elementwise operators compiled", "cpu", compiled,
        ("module:Chain={part}",), stacks=True,
    ),
    Pair(
        "larger_batch_cpu", "twice the batch", "cpu", lambda: larger_batch("cpu", 256),
        ("category:gemm=2", "category:elementwise=2", "category:reduction=2"), work=2,
    ),
    Pair(
        "no_stacks_cpu", "a recording without stacks", "cpu", lambda: no_stacks("cpu"),
        ("stacks=0",), stacks=True, stacks_after=False,
    ),
)  # fmt: skip
