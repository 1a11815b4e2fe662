"""Faults on a processor that forums and issues report often: Python, inner loops, single passes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.planted.fault import planted


def layers(*sizes: int) -> nn.Sequential:
    """Return layers with an activation between each two."""
    parts: list[nn.Module] = []
    for inner, outer in itertools.pairwise(sizes):
        parts += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def pictures_to_classes(step: int) -> nn.Sequential:
    """Return two convolutions and a layer for ten classes."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, stride=step), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=step), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def trained(loss_of: Callable[[], torch.Tensor], *modules: nn.Module) -> Step:
    """Return a step that minimizes a loss."""
    weights = [one for module in modules for one in module.parameters()]
    adam = torch.optim.AdamW(weights, lr=1e-4, fused=True)

    def step() -> None:
        adam.zero_grad()
        loss_of().backward()
        adam.step()

    return step


def text_split_in_step() -> Forms:
    """Look up the words of texts in each step, or have their numbers ready."""
    words = [f"word{i}" for i in range(3000)]
    numbers = {word: i for i, word in enumerate(words)}
    rng = random.Random(0)
    texts = [" ".join(rng.choices(words, k=60)) for _ in range(64)]

    def encode(batch: Sequence[str]) -> torch.Tensor:
        return torch.tensor(
            [[numbers.get(word.strip(".,"), 0) for word in text.lower().split()] for text in batch]
        )

    def form(late: bool) -> Step:
        bags, head = nn.EmbeddingBag(3000, 128), layers(128, 512, 512, 10)
        ready, classes = encode(texts), torch.randint(10, (64,))

        def loss() -> torch.Tensor:
            chosen = encode(texts) if late else ready
            return functional.cross_entropy(head(bags(chosen)), classes)

        return trained(loss, bags, head)

    return Forms(form(True), form(False))


def pictures_moved_in_numpy() -> Forms:
    """Move, turn and cut pictures one by one in NumPy, or as a batch with one offset each."""
    data = np.random.default_rng(0).random((256, 32, 32, 3), dtype=np.float32)
    whole = torch.from_numpy(data).permute(0, 3, 1, 2).contiguous()
    rng = np.random.default_rng(1)

    def moved(picture: np.ndarray) -> np.ndarray:
        if rng.random() < 0.5:
            picture = picture[:, ::-1]
        row, column = rng.integers(0, 8, 2)
        padded = np.pad(picture, ((4, 4), (4, 4), (0, 0)))
        return (padded[row : row + 32, column : column + 32] - 0.5) / 0.25

    def batch(chosen: torch.Tensor) -> torch.Tensor:
        padded = functional.pad(whole[chosen], (4, 4, 4, 4))
        at = torch.randint(0, 8, (2, len(chosen), 1)) + torch.arange(32)
        rows, columns = at[0][:, None, :, None], at[1][:, None, None, :]
        some = torch.arange(len(chosen))[:, None, None, None]
        return (padded[some, torch.arange(3)[:, None, None], rows, columns] - 0.5) / 0.25

    def form(single: bool) -> Step:
        network, classes = pictures_to_classes(2), torch.randint(10, (64,))

        def loss() -> torch.Tensor:
            chosen = torch.randint(256, (64,))
            if single:
                pictures = np.stack([moved(data[i]) for i in chosen.tolist()])
                x = torch.from_numpy(pictures.transpose(0, 3, 1, 2).copy())
            else:
                x = batch(chosen)
            return functional.cross_entropy(network(x), classes)

        return trained(loss, network)

    return Forms(form(True), form(False))


def neighbours_drawn_in_python() -> Forms:
    """Draw ten neighbors of each node in Python, or take them from a table."""
    rng = random.Random(0)
    near = [[rng.randrange(5000) for _ in range(rng.randrange(5, 30))] for _ in range(5000)]
    table = torch.tensor([[rng.choice(one) for _ in range(10)] for one in near])
    features = torch.randn(5000, 64)

    def drawn(nodes: Sequence[int]) -> torch.Tensor:
        return torch.tensor([[rng.choice(near[node]) for _ in range(10)] for node in nodes])

    def form(in_python: bool) -> Step:
        network = layers(128, 128, 10)

        def loss() -> torch.Tensor:
            nodes = torch.randint(5000, (256,))
            others = drawn(nodes.tolist()) if in_python else table[nodes]
            x = torch.cat((features[nodes], features[others].mean(1)), dim=1)
            return functional.cross_entropy(network(x), nodes % 10)

        return trained(loss, network)

    return Forms(form(True), form(False))


def overlap_by_sample_and_class() -> Forms:
    """Compute the overlap of masks for each sample and class, or of all at once."""

    def form(by_item: bool) -> Step:
        network = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 6, 3, padding=1)
        )
        pictures, classes = torch.randn(8, 1, 64, 64), torch.randint(6, (8, 64, 64))

        def overlaps(chances: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
            if not by_item:
                both = (chances * masks).sum((2, 3))
                return (2 * both + 1) / (chances.sum((2, 3)) + masks.sum((2, 3)) + 1)
            found = []
            for sample in range(8):
                for kind in range(6):
                    chance, mask = chances[sample, kind], masks[sample, kind]
                    both = (chance * mask).sum()
                    found.append((2 * both + 1) / (chance.sum() + mask.sum() + 1))
            return torch.stack(found)

        def loss() -> torch.Tensor:
            masks = functional.one_hot(classes, 6).permute(0, 3, 1, 2).float()
            return 1 - overlaps(network(pictures).softmax(1), masks).mean()

        return trained(loss, network)

    return Forms(form(True), form(False))


def three_texts_apart() -> Forms:
    """Encode an anchor, a positive and a negative one after the other, or as one batch."""

    def form(apart: bool) -> Step:
        encoder = nn.Sequential(
            nn.Linear(128, 256), nn.LayerNorm(256), nn.GELU(),
            nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU(), nn.Linear(256, 64),
        )  # fmt: skip
        texts = torch.randn(3, 8, 128)

        def loss() -> torch.Tensor:
            if apart:
                one, near, far = (encoder(text) for text in texts.unbind())
            else:
                one, near, far = encoder(texts.flatten(0, 1)).view(3, 8, 64).unbind()
            return functional.triplet_margin_loss(one, near, far)

        return trained(loss, encoder)

    return Forms(form(True), form(False))


def worlds_asked_one_by_one() -> Forms:
    """Ask a policy for each of 32 worlds, or for all of them."""

    def form(single: bool) -> Step:
        policy = layers(24, 128, 128, 6).eval()
        seen = [np.random.default_rng(i).random(24, dtype=np.float32) for i in range(32)]

        @torch.no_grad()
        def step() -> list[int]:
            if not single:
                scores = policy(torch.from_numpy(np.stack(seen)))
                return list(torch.multinomial(scores.softmax(-1), 1)[:, 0].tolist())
            scores = [policy(torch.from_numpy(one)[None]) for one in seen]
            return [int(torch.multinomial(one.softmax(-1), 1)) for one in scores]

        return step

    return Forms(form(True), form(False))


def scored_by_a_second_pass() -> Forms:
    """Call the model again for the hits of the batch, or use its scores."""

    def form(again: bool) -> Step:
        network = pictures_to_classes(1)
        pictures, classes = torch.randn(16, 3, 32, 32), torch.randint(10, (16,))

        def loss() -> torch.Tensor:
            scores = network(pictures)
            found = (network(pictures) if again else scores.detach()).argmax(1)
            hits.append((found == classes).float().mean())
            return functional.cross_entropy(scores, classes)

        hits: list[torch.Tensor] = []
        return trained(loss, network)

    return Forms(form(True), form(False))


def tested_in_batches_of_one() -> Forms:
    """Test a model sample by sample, or in batches."""

    def form(size: int) -> Step:
        network = layers(64, 256, 256, 10).eval()
        data = TensorDataset(torch.randn(64, 64), torch.randint(10, (64,)))
        loader = DataLoader(data, batch_size=size)

        @torch.no_grad()
        def step() -> int:
            return sum(int((network(x).argmax(1) == y).sum()) for x, y in loader)

        return step

    return Forms(form(1), form(64))


_PROGRAMS: Final = (
    (text_split_in_step, "texts split into words in each step"),
    (pictures_moved_in_numpy, "pictures augmented one by one in NumPy"),
    (neighbours_drawn_in_python, "neighbors of nodes drawn in Python"),
    (overlap_by_sample_and_class, "a loss by sample and class"),
    (three_texts_apart, "three passes of an encoder, for a loss of triplets"),
    (worlds_asked_one_by_one, "a policy asked for one world after the other"),
    (scored_by_a_second_pass, "a second pass of the model, for its metric"),
    (tested_in_batches_of_one, "a test with batches of one"),
)

PAIRS: tuple[Pair, ...] = tuple(
    replace(planted(build.__name__, what, build, "cpu"), of_process=True)
    for build, what in _PROGRAMS
)
