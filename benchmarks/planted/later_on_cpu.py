"""Faults of programs without a device, planted when the rules were finished."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch._dynamo
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from benchmarks.pairs.host_programs import batches, perceptron
from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import training
from benchmarks.planted.tuned_on_host import DEVICE, network
from benchmarks.planted.two_ranks import on_two_ranks


def slow_worker() -> Forms:
    """Wait for a worker that reads slowly, or have the batch in memory."""
    model = perceptron(256, 256, 12)
    data = batches(256, 16, 1e-4, workers=1)
    ready = next(data)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        inputs, targets = next(data)
        return inputs, targets

    def form(reads: bool) -> Step:
        return training(
            model, DEVICE, loss=functional.mse_loss,
            batch=batch if reads else lambda: (ready[0], ready[1]),
        )  # fmt: skip

    return Forms(form(True), form(False))


def recompiled() -> Forms:
    """Compile again for each length of a batch, or pad all to one length."""
    torch._dynamo.config.recompile_limit = 10_000
    lengths = iter(range(3000, 10**6))

    def form(pads: bool) -> Step:
        layers = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))
        model = torch.compile(layers, backend="eager", dynamic=False)
        whole = torch.rand(10_000, 64)

        @torch.no_grad()
        def step() -> torch.Tensor:
            length = 4096 if pads else next(lengths)
            scores: torch.Tensor = model(whole[:length])
            return scores

        return step

    return Forms(form(False), form(True))


def reductions() -> tuple[Step, ...]:
    """Return training of one rank that averages each gradient alone, and in buckets."""
    inputs, targets = torch.rand(64, 256), torch.randint(10, (64,))

    def form(model: nn.Module, average: Callable[[torch.Tensor], object] | None) -> Step:
        return training(model, DEVICE, batch=lambda: (inputs, targets), after_backward=average)

    plain = network(256, 12)

    def average(_: torch.Tensor) -> None:
        for parameter in plain.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2

    buckets = nn.parallel.DistributedDataParallel(network(256, 12), gradient_as_bucket_view=True)
    return form(plain, average), form(buckets, None)


def single_reductions() -> Forms:
    """Average each gradient alone, or all in buckets."""
    single, in_buckets = on_two_ranks(reductions)
    return Forms(single, in_buckets)


PAIRS = (
    planted("slow_worker", "a worker that reads slowly", slow_worker, DEVICE),
    planted("recompiled", "a compilation for each length", recompiled, DEVICE),
    planted("single_reductions", "gradients averaged one by one", single_reductions, DEVICE),
)
