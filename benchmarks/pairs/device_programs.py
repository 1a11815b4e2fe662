"""Programs of the reference device before and after a fix."""

from __future__ import annotations

import refdevice
import torch
from torch import nn

from benchmarks.pairs.host_programs import (
    ADAM,
    PREFETCH,
    UPDATES,
    ZEROS,
    Attention,
    accumulation,
    batches,
    blocks,
    fused_attention,
    larger_batch,
    loss_of,
    no_stacks,
    optimizer_foreach,
    optimizer_fused,
    perceptron,
)
from benchmarks.pairs.pair import Forms, Pair, Step

DEVICE = "refdev"


def data_loader() -> Forms:
    """Read a batch on the training thread, or with two workers."""

    def form(workers: int) -> Step:
        model = perceptron(256, 64, 24).to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
        data = batches(256, 16, 250e-6, workers)

        def step() -> None:
            inputs, targets = (each.to(DEVICE) for each in next(data))
            optimizer.zero_grad()
            loss_of(model, inputs, targets).backward()
            optimizer.step()

        return step

    return Forms(form(0), form(2))


def zero_grad() -> Forms:
    """Fill gradients with zeros, or drop them."""

    def form(to_none: bool) -> Step:
        model = perceptron(64, 64, 48).to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
        inputs, targets = torch.rand(16, 64).to(DEVICE), torch.rand(16, 8).to(DEVICE)

        def step() -> None:
            optimizer.zero_grad(set_to_none=to_none)
            loss_of(model, inputs, targets).backward()
            optimizer.step()

        return step

    return Forms(form(False), form(True))


class OneKernelAttention(Attention):
    """Attention in one operator, which the reference device runs as one kernel."""

    def mix(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Return the values, weighted by the products of queries and keys."""
        attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        mixed: torch.Tensor = attention(query, key, value)[0]
        return mixed


def item_removed() -> Forms:
    """Read the loss and the norms of gradients on the host, or leave them on the device."""

    def form(read: bool) -> Step:
        model = perceptron(128, 128, 8).to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
        inputs, targets = torch.rand(64, 128).to(DEVICE), torch.rand(64, 8).to(DEVICE)
        weights = [each for each in model.parameters() if each.dim() == 2][::3]
        history: list[object] = []

        def keep(value: torch.Tensor) -> None:
            history.append(value.item() if read else value)

        def step() -> None:
            history.clear()
            optimizer.zero_grad()
            loss = loss_of(model, inputs, targets)
            keep(loss.detach())
            loss.backward()
            for weight in weights:
                assert weight.grad is not None
                keep(weight.grad.norm())
            optimizer.step()

        return step

    return Forms(form(True), form(False))


def synchronize_removed() -> Forms:
    """Wait for the device after every layer, as who times layers by hand, or never."""

    def form(wait: bool) -> Step:
        layers = [nn.Linear(64, 64).to(DEVICE) for _ in range(48)]
        inputs = torch.rand(64, 64).to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            hidden = inputs
            for layer in layers:
                hidden = layer(hidden).relu()
                if wait:
                    torch.accelerator.synchronize()
            return hidden

        return step

    return Forms(form(True), form(False))


def copies_do_not_wait() -> Forms:
    """Copy inputs from pageable memory with a wait for each, or by way of staged memory."""

    def form(non_blocking: bool) -> Step:
        model = perceptron(512, 32, 6).to(DEVICE)
        shards = [torch.rand(64, 512) for _ in range(8)]

        @torch.no_grad()
        def step() -> torch.Tensor:
            done = torch.zeros(64, 8, device=DEVICE)
            for shard in shards:
                done += model(shard.to(DEVICE, non_blocking=non_blocking))
            return done

        return step

    return Forms(form(False), form(True))


def two_streams() -> Forms:
    """Run two chains that are independent one after the other, or on two streams."""
    side = torch.refdev.Stream()
    square, wide = torch.rand(160, 160).to(DEVICE) / 160, torch.rand(96, 1024).to(DEVICE)

    def products() -> torch.Tensor:
        hidden = square
        for _ in range(12):
            hidden = hidden @ square
        return hidden

    def curves() -> torch.Tensor:
        hidden = wide
        for _ in range(16):
            hidden = hidden.tanh()
        return hidden

    def before() -> None:
        curves()
        products()

    def after() -> None:
        own = torch.refdev.current_stream()
        side.wait_stream(own)
        with torch.refdev.stream(side):
            curves()
        products()
        own.wait_stream(side)

    return Forms(before, after)


def faster_products() -> Forms:
    """Run on a device, or on one that multiplies four times as fast."""
    model = perceptron(256, 256, 8).to(DEVICE)
    inputs, targets = torch.rand(64, 256).to(DEVICE), torch.rand(64, 8).to(DEVICE)

    def step() -> None:
        model.zero_grad()
        loss_of(model, inputs, targets).backward()

    def rate(gflop_per_s: float) -> Step:
        return lambda: refdevice.configure(throughput_gflop_per_s=gflop_per_s)

    return Forms(step, step, enter=(rate(10.0), rate(40.0)))


READS = ("operator:aten::item=0", "synchronization=0")
PRODUCTS = ("kernel:refdev_mm_kernel=0.25", "kernel:refdev_addmm_kernel=0.25")
SLOW = {"speed": 0.5}

PAIRS = (
    Pair(
        "data_loader_refdev", "two data loader workers", "refdev", data_loader, ("data_loader=0",),
        settings=SLOW, warm_steps=PREFETCH,
    ),
    Pair("zero_grad_refdev", "gradients are dropped, not zeroed", "refdev", zero_grad, ZEROS),
    Pair(
        "zero_grad_inferred", "gradients are dropped, not zeroed", "refdev", zero_grad, ZEROS,
        route="inferred",
    ),
    Pair(
        "optimizer_foreach_refdev", "a foreach optimizer", "refdev",
        lambda: optimizer_foreach(DEVICE, 32), ADAM,
    ),
    Pair(
        "optimizer_fused_refdev", "a fused optimizer", "refdev", lambda: optimizer_fused(DEVICE),
        ADAM,
    ),
    Pair(
        "fused_attention_refdev", "attention in one operator", "refdev",
        lambda: fused_attention(OneKernelAttention, DEVICE, 64), ("module:Attention={part}",),
        stacks=True,
    ),
    Pair("item_refdev", "no `item()`", "refdev", item_removed, READS, settings=SLOW),
    Pair(
        "item_inferred", "no `item()`", "refdev", item_removed, READS, route="inferred",
        settings=SLOW,
    ),
    Pair(
        "item_stacks_refdev", "no `item()`, recorded with stacks", "refdev", item_removed, READS,
        stacks=True, settings=SLOW,
    ),
    Pair(
        "synchronize_refdev", "no wait after each layer", "refdev", synchronize_removed,
        ("synchronization=0",), settings=SLOW,
    ),
    Pair(
        "larger_batch_refdev", "twice the batch", "refdev", lambda: larger_batch(DEVICE, 64),
        ("kernel:*=2",), work=2,
    ),
    Pair(
        "copies_refdev", "copies that do not wait (for pinned memory)", "refdev",
        copies_do_not_wait, ("synchronization=0",),
    ),
    Pair(
        "fewer_modules_refdev", "8 blocks of 12", "refdev", lambda: blocks(DEVICE, 128, 12, 8),
        tuple(f"module:Block_{i}=0" for i in range(8, 12)), stacks=True,
    ),
    Pair(
        "two_streams_refdev", "a second stream for the shorter chain", "refdev", two_streams,
        ("kernel:refdev_tanh_kernel=0",), settings={"speed": 0.2},
    ),
    Pair(
        "accumulation_refdev", "one update for four batches", "refdev",
        lambda: accumulation(DEVICE), UPDATES,
    ),
    Pair(
        "faster_products_refdev", "products four times as fast", "refdev", faster_products,
        PRODUCTS,
    ),
    Pair(
        "no_stacks_refdev", "a recording without stacks", "refdev", lambda: no_stacks(DEVICE),
        ("stacks=0",), stacks=True, stacks_after=False,
    ),
)  # fmt: skip
