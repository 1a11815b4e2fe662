"""Faults of the host beside a device, planted when the rules were finished."""

from __future__ import annotations

import re
import threading
import time
import zlib
from collections import Counter

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import SHORT, planted
from benchmarks.planted.programs import Network, training
from benchmarks.planted.tuned_on_device import DEVICE, dense_network

WORDS = 512


def sampled_on_host() -> Forms:
    """Draw the next words on the host, or on the device."""
    count, width = 32, 256
    embedding, first = nn.Embedding(WORDS, width).to(DEVICE), torch.ones(count).long().to(DEVICE)
    model = dense_network(width, 1024, 1024, WORDS)

    def on_host(scores: torch.Tensor) -> torch.Tensor:
        chances = functional.softmax(scores.cpu() / 0.8, dim=-1)
        return torch.multinomial(chances, 1).squeeze(1).to(DEVICE)

    def on_device(scores: torch.Tensor) -> torch.Tensor:
        return (scores / 0.8 - torch.empty_like(scores).exponential_().log_()).argmax(dim=-1)

    def form(on_the_host: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            words = first
            for _ in range(6):
                scores = model(embedding(words))
                words = on_host(scores) if on_the_host else on_device(scores)
            return words

        return step

    return Forms(form(True), form(False))


class OnHost(torch.optim.Optimizer):
    """An optimizer whose state and arithmetic are on the host, to save the device's memory."""

    def __init__(self, model: nn.Module) -> None:
        self.theirs = list(model.parameters())
        super().__init__(self.theirs, {})
        self.ours = [each.detach().cpu() for each in self.theirs]
        self.adam = torch.optim.Adam(self.ours, fused=True)

    @torch.no_grad()
    def step(self, *_: object) -> None:  # type: ignore[override]
        """Copy gradients to the host and parameters back."""
        for ours, theirs in zip(self.ours, self.theirs, strict=True):
            assert theirs.grad is not None
            ours.grad = theirs.grad.cpu()
        self.adam.step()
        for ours, theirs in zip(self.ours, self.theirs, strict=True):
            theirs.copy_(ours)


def offloaded_optimizer() -> Forms:
    """Update the parameters on the host though memory is plenty, or on the device."""

    def form(on_host: bool) -> Step:
        model = Network(blocks=2).to(DEVICE)
        adam = OnHost(model) if on_host else torch.optim.Adam(model.parameters(), fused=True)
        return training(model, DEVICE, optimizer=adam)

    return Forms(form(True), form(False))


def tokenizer() -> Forms:
    """Split and number the words of a text in each step, or before the training."""
    text = " ".join(f"word{i % 700} and, number-{i % 31}!" for i in range(6000))
    numbers = {f"word{i}": i % WORDS for i in range(700)}

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        found = [numbers.get(word.lower(), 0) for word in re.findall(r"\w+|[^\w\s]", text)]
        words = torch.tensor(found[:65]).to(DEVICE, non_blocking=True)
        return words[:-1], words[1:]

    ready = batch()
    return Forms(
        training(Network(blocks=2), DEVICE, batch=batch),
        training(Network(blocks=2), DEVICE, batch=lambda: ready),
    )


def expert_loop() -> Forms:
    """Compute each expert for the rows that a mask selects, or all in one batched product."""
    experts, rows, width = 8, 32, 128
    hidden = torch.rand(rows, width).to(DEVICE)
    router = nn.Linear(width, experts).to(DEVICE)
    weights = torch.rand(experts, width, width).to(DEVICE) / width

    @torch.no_grad()
    def by_masks() -> torch.Tensor:
        state = hidden
        for _ in range(3):
            choice = router(state).argmax(dim=-1)
            mixed = torch.zeros_like(state)
            for expert in range(experts):
                chosen = torch.nonzero(choice == expert).squeeze(1)
                mixed[chosen] = state[chosen] @ weights[expert]
            state = state + mixed
        return state

    @torch.no_grad()
    def at_once() -> torch.Tensor:
        state = hidden
        for _ in range(3):
            choice = functional.one_hot(router(state).argmax(dim=-1), experts).to(state.dtype)
            each = torch.matmul(state, weights)
            state = state + torch.einsum("erw,re->rw", each, choice)
        return state

    return Forms(by_masks, at_once)


def suppression_loop() -> Forms:
    """Suppress near boxes one by one on the host's word, or by all distances at once."""
    backbone, features = dense_network(256, 512, 256, 4), torch.rand(512, 256).to(DEVICE)
    kept = 24

    @torch.no_grad()
    def one_by_one() -> list[int]:
        boxes = backbone(features)[:kept]
        chosen: list[int] = []
        for i in range(kept):
            if all((boxes[i] - boxes[j]).norm().item() > 0.05 for j in chosen[-3:]):
                chosen.append(i)
        return chosen

    @torch.no_grad()
    def at_once() -> torch.Tensor:
        boxes = backbone(features)[:kept]
        near = torch.cdist(boxes, boxes) <= 0.05
        return near.triu(diagonal=1).any(dim=0).logical_not()

    return Forms(one_by_one, at_once)


def flat(model: nn.Module) -> torch.Tensor:
    """Return one tensor whose parts the parameters of a model are from now on."""
    parameters = list(model.parameters())
    whole = torch.cat([each.detach().flatten() for each in parameters])
    parts = whole.split([each.numel() for each in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.data = part.view_as(parameter)
    return whole


def average_loop() -> Forms:
    """Keep a moving average of the weights one by one, or of all in one operator."""

    def form(one_by_one: bool) -> Step:
        model = Network(blocks=10).to(DEVICE)
        whole = flat(model)
        average = whole.clone()
        sizes = [each.numel() for each in model.parameters()]

        @torch.no_grad()
        def keep(_: torch.Tensor) -> None:
            if not one_by_one:
                average.lerp_(whole, 0.001)
                return
            parts = zip(average.split(sizes), whole.split(sizes), strict=True)
            for kept, current in parts:
                kept.mul_(0.999)
                kept.add_(current * 0.001)

        return training(model, DEVICE, after_backward=keep, tokens=16)

    return Forms(form(True), form(False))


def many_copies() -> Forms:
    """Copy the features of a request one by one, or as one tensor."""
    count, rows = 48, 32
    model = dense_network(count, 512, 512, 1)
    features = {f"feature{i}": torch.rand(rows) for i in range(count)}

    @torch.no_grad()
    def one_by_one() -> torch.Tensor:
        columns = [each.to(DEVICE) for each in features.values()]
        scores: torch.Tensor = model(torch.stack(columns, dim=1))
        return scores

    @torch.no_grad()
    def together() -> torch.Tensor:
        whole = torch.stack(list(features.values()), dim=1)
        scores: torch.Tensor = model(whole.to(DEVICE))
        return scores

    return Forms(one_by_one, together)


def compared_losses() -> Forms:
    """Compare the loss of each part of a batch in Python, or keep the least on the device."""

    def form(in_python: bool) -> Step:
        model = Network(blocks=1).to(DEVICE)
        sgd = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
        parts = [torch.randint(WORDS, (16,)).to(DEVICE) for _ in range(8)]

        def step() -> torch.Tensor:
            sgd.zero_grad()
            best = torch.full((), 1e9, device=DEVICE)
            for words in parts:
                loss = functional.cross_entropy(model(words), words)
                loss.backward()
                if in_python:
                    if loss < best:
                        best = loss.detach()
                else:
                    best = torch.minimum(best, loss.detach())
            sgd.step()
            return best

        return step

    return Forms(form(True), form(False))


class Packed(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Samples that are packed as in a file."""

    def __init__(self) -> None:
        self.packed = [zlib.compress(bytes(range(256)) * 400) for _ in range(64)]

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        raw = zlib.decompress(self.packed[index % len(self.packed)])
        values = torch.frombuffer(bytearray(raw), dtype=torch.uint8).float()
        return values[:384] / 255.0, values[0].long()


def unpacked_on_thread() -> Forms:
    """Unpack the samples on the training thread, or have them on the device."""
    model = dense_network(384, 768, 768, WORDS)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        inputs, targets = next(loader)
        return inputs.to(DEVICE, non_blocking=True), targets.to(DEVICE, non_blocking=True)

    loader = iter(DataLoader(Packed(), batch_size=48))
    ready = batch()
    return Forms(
        training(model, DEVICE, batch=batch),
        training(model, DEVICE, batch=lambda: ready),
    )


def busy_thread() -> Forms:
    """Count words on a thread that holds the interpreter, or have no such thread."""
    is_busy, is_over = threading.Event(), threading.Event()

    def count() -> None:
        counts: Counter[int] = Counter()
        while not is_over.is_set():
            is_busy.wait()
            counts.update(i % 97 for i in range(2000))

    threading.Thread(target=count, daemon=True).start()
    step = training(Network(blocks=8), DEVICE, tokens=16)
    return Forms(step, step, enter=(is_busy.set, is_busy.clear))


def polling() -> Forms:
    """Look for the next request every two milliseconds, or wait for it."""
    model, inputs = dense_network(256, 512, 512, 64), torch.rand(64, 256).to(DEVICE)
    requests: list[float] = []

    def form(polls: bool) -> Step:
        @torch.no_grad()
        def step() -> list[float]:
            for _ in range(3):
                requests.append(0.0)
                while polls:
                    time.sleep(0.002)
                    if requests:
                        break
                requests.pop()
                model(inputs)
            scores: list[float] = model(inputs)[:, 0].tolist()
            return scores

        return step

    return Forms(form(True), form(False))


FAULTS = (
    (sampled_on_host, "words drawn on the host"),
    (offloaded_optimizer, "an optimizer on the host"),
    (tokenizer, "text split in each step"),
    (expert_loop, "experts by masks"),
    (suppression_loop, "boxes compared one by one"),
    (average_loop, "an average of weights, one by one"),
    (many_copies, "48 features copied one by one"),
    (compared_losses, "losses compared in Python"),
    (unpacked_on_thread, "samples unpacked on the training thread"),
    (busy_thread, "a thread that holds the interpreter"),
    (polling, "requests that are polled"),
)
PAIRS = tuple(planted(build.__name__, what, build, DEVICE, SHORT) for build, what in FAULTS)
