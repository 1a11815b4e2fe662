"""Programs as an expert writes them, without a known fault; by the author of the other faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import convert_conv2d_weight_memory_format
from torch.utils.data import DataLoader, Dataset

from benchmarks.pairs.pair import Step
from benchmarks.planted.fault import tuned

DEVICE: Final = "refdev"

Pictures = tuple[torch.Tensor, torch.Tensor]


class Album(Dataset[Pictures]):
    """Small pictures in memory, channels last as decoders write them, fetched by the batch."""

    def __init__(self, count: int) -> None:
        self.pictures = torch.randint(256, (count, 32, 32, 3), dtype=torch.uint8)
        self.kinds = torch.randint(10, (count,))

    def __len__(self) -> int:
        """Return how many pictures there are."""
        return len(self.kinds)

    def __getitem__(self, index: torch.Tensor) -> Pictures:
        """Return the pictures of a batch and what they show."""
        return self.pictures[index].permute(0, 3, 1, 2), self.kinds[index]


def pictures_classified() -> Step:
    """Train a small convolutional network; batches are indexed at once and scaled as floats."""
    album = Album(2048)

    def batches() -> Iterator[Pictures]:
        while True:
            order = torch.randperm(len(album)).split(32)
            yield from DataLoader(album, batch_size=None, sampler=list(order))

    model = nn.Sequential(
        nn.Conv2d(3, 24, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(24),
        nn.ReLU(inplace=True),
        nn.Conv2d(24, 48, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(48),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10),
    )  # fmt: skip
    convert_conv2d_weight_memory_format(model, torch.channels_last)
    sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, fused=True)
    data = batches()

    def step() -> None:
        pictures, kinds = next(data)
        logits = model(pictures.float().mul_(2 / 255).sub_(1))
        loss = functional.cross_entropy(logits, kinds, label_smoothing=0.1)
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    return step


class CachedLayer(nn.Module):
    """A layer of a language model that keeps keys and values of the places before."""

    def __init__(self, width: int, heads: int, texts: int, places: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        kept = torch.zeros(2, texts, heads, places, width // heads)
        self.register_buffer("kept", kept, persistent=False)
        self.kept: torch.Tensor

    def forward(self, states: torch.Tensor, start: int) -> torch.Tensor:
        """Return the next states of (texts, places, width), whose first place is ``start``."""
        parts = self.joint(self.first(states)).unflatten(2, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        end = start + states.shape[1]
        self.kept[0, :, :, start:end], self.kept[1, :, :, start:end] = key, value
        keys, values = self.kept[:, :, :, :end]
        mixed = functional.scaled_dot_product_attention(query, keys, values, is_causal=start == 0)
        states = states + self.out(mixed.transpose(1, 2).flatten(2))
        following: torch.Tensor = states + self.perceptron(self.second(states))
        return following


class Answerer(nn.Module):
    """A small language model that answers token by token."""

    def __init__(self, texts: int, places: int, width: int = 192, words: int = 4000) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.layers = nn.ModuleList(CachedLayer(width, 4, texts, places) for _ in range(3))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor, start: int) -> torch.Tensor:
        """Return the most likely words (texts, 1) after tokens, whose first place is ``start``."""
        states = self.words(tokens) + self.places.weight[start : start + tokens.shape[1]]
        for layer in self.layers:
            states = layer(states, start)
        return self.head(self.norm(states[:, -1])).argmax(1, keepdim=True)


def answers_from_a_cache() -> Step:
    """Answer prompts with keys and values kept in place, and logits of last words only."""
    texts, asked, told = 4, 32, 8
    model = Answerer(texts, asked + told).eval()
    prompts = torch.randint(4000, (texts, asked))

    @torch.inference_mode()
    def step() -> list[list[int]]:
        answers = torch.empty(texts, told, dtype=torch.int64)
        word = model(prompts, 0)
        answers[:, :1] = word
        for i in range(1, told):
            word = model(word, asked + i - 1)
            answers[:, i : i + 1] = word
        read: list[list[int]] = answers.tolist()
        return read

    return step


def molecules_in_one_graph() -> Step:
    """Train on molecules joined to one graph, with messages added up where they arrive."""
    count, atoms, bonds = 24, 20, 44
    shift = (torch.arange(count) * atoms).repeat_interleave(bonds)
    origin, target = torch.randint(atoms, (2, count * bonds)) + shift
    kinds = torch.randint(16, (count * atoms,))
    molecule = torch.arange(count).repeat_interleave(atoms)
    energies = torch.randn(count)

    class Molecules(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.kinds = nn.Embedding(16, width)
            self.updates = nn.ModuleList(
                nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
                for _ in range(4)
            )
            self.head = nn.Linear(width, 1)

        def forward(self, kinds: torch.Tensor) -> torch.Tensor:
            hidden: torch.Tensor = self.kinds(kinds)
            for update in self.updates:
                arrived = hidden.index_add(0, target, hidden.index_select(0, origin))
                hidden = hidden + update(arrived)
            whole = hidden.new_zeros(count, hidden.shape[1]).index_add(0, molecule, hidden)
            energy: torch.Tensor = self.head(whole).squeeze(1)
            return energy

    model = Molecules(96)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        loss = functional.l1_loss(model(kinds), energies)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def speech_with_ready_filters() -> Step:
    """Recognize words in sounds; window and filters are made once, and gradients are off."""
    centers = torch.linspace(0, 200, 66)
    places = torch.arange(201.0).unsqueeze(1)
    rising = (places - centers[:-2]) / (centers[1:-1] - centers[:-2])
    falling = (centers[2:] - places) / (centers[2:] - centers[1:-1])
    filters, window = torch.minimum(rising, falling).clamp(min=0).T, torch.hann_window(400)
    sounds = torch.randn(10, 16000)
    listener = nn.Sequential(
        nn.Conv1d(64, 160, 5, padding=2), nn.ReLU(inplace=True),
        nn.Conv1d(160, 160, 5, stride=2, padding=2), nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(160, 35),
    ).eval()  # fmt: skip

    @torch.inference_mode()
    def step() -> list[int]:
        spectrum = torch.stft(sounds, 400, 160, window=window, return_complex=True)
        power = torch.view_as_real(spectrum).square_().sum(3)
        words: list[int] = listener((filters @ power).log1p_()).argmax(1).tolist()
        return words

    return step


def process_of_few_points() -> Step:
    """Fit a Gaussian process with one Cholesky factor for its solution and its determinant."""
    places = torch.rand(320, 3)
    apart = (places.unsqueeze(1) - places.unsqueeze(0)).square()
    seen = torch.sin(4 * places).sum(1, keepdim=True) + 0.2 * torch.randn(320, 1)
    scales, noise = torch.zeros(3, requires_grad=True), torch.tensor(-3.0, requires_grad=True)
    adam = torch.optim.Adam([scales, noise], lr=0.05, fused=True)

    def step() -> None:
        likeness = torch.exp(-0.5 * (apart @ torch.exp(-2 * scales)))
        likeness = likeness + torch.diag_embed((noise.exp() + 1e-3).expand(len(seen)))
        factor = torch.linalg.cholesky(likeness)
        solved = torch.linalg.solve_triangular(factor, seen, upper=False)
        loss = 0.5 * solved.square().sum() + factor.diagonal().log().sum()
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


class Layer(nn.Module):
    """A layer of a transformer on the device."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the next states of (texts, places, width)."""
        parts = self.joint(self.first(states)).unflatten(2, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        states = states + self.out(mixed.transpose(1, 2).flatten(2))
        following: torch.Tensor = states + self.perceptron(self.second(states))
        return following


def texts_on_the_device() -> Step:
    """Train a language model on texts that are on the device; the loss is read now and then."""
    texts = torch.randint(400, (256, 33)).to(DEVICE)
    model = nn.Sequential(
        nn.Embedding(400, 96), *(Layer(96, 4, causal=True) for _ in range(2)), nn.LayerNorm(96),
        nn.Linear(96, 400),
    ).to(DEVICE)  # fmt: skip
    adam = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    total, steps = torch.zeros((), device=DEVICE), 0

    def step() -> float | None:
        nonlocal steps
        chosen = texts.index_select(0, torch.randint(256, (5,), device=DEVICE))
        logits = model(chosen[:, :-1]).flatten(0, 1)
        loss = functional.cross_entropy(logits, chosen[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        total.add_(loss.detach())
        steps += 1
        if steps % 50:
            return None
        shown = total.item() / 50
        total.zero_()
        return shown

    return step


def towers_on_the_device() -> Step:
    """Train two towers of a recommender, with the other films of a batch as wrong answers."""
    seen = torch.randint(3000, (20000, 2)).to(DEVICE)
    right = torch.arange(192, device=DEVICE)

    class Tower(nn.Module):
        def __init__(self, rows: int) -> None:
            super().__init__()
            self.rows = nn.Embedding(rows, 48)
            self.perceptron = nn.Sequential(
                nn.Linear(48, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64)
            )

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return functional.normalize(self.perceptron(self.rows(rows)), dim=1)

    people, films = Tower(3000).to(DEVICE), Tower(3000).to(DEVICE)
    weights = [*people.parameters(), *films.parameters()]
    adam = torch.optim.Adam(weights, lr=1e-3, fused=True)

    def step() -> None:
        rows = torch.randint(20000, (192,), device=DEVICE)
        who, what = seen.index_select(0, rows).unbind(1)
        loss = functional.cross_entropy(people(who) @ films(what).T * 20, right)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def shapes_from_noise() -> Step:
    """Sample point clouds by a diffusion whose factors the host knows; only the result is read."""
    width, jumps = 96, 4
    kept = torch.linspace(1, 0.99, 1000, dtype=torch.float64).cumprod(0).tolist()
    jump = 1000 // jumps
    steps = range(999, 0, -jump)
    factors = [(kept[at], kept[at - jump] if at >= jump else 1.0) for at in steps]
    times = nn.Embedding(1000, width)
    moments = times.weight.detach()[list(steps)].to(DEVICE).unbind(0)
    enter, leave = nn.Linear(3, width).to(DEVICE), nn.Linear(width, 3).to(DEVICE)
    layers = nn.Sequential(*(Layer(width, 4, causal=False) for _ in range(2))).to(DEVICE).eval()

    @torch.inference_mode()
    def step() -> torch.Tensor:
        points = torch.randn(2, 48, 3, device=DEVICE)
        for moment, (now, then) in zip(moments, factors, strict=True):
            noise = leave(layers(enter(points) + moment))
            clean = (points - (1 - now) ** 0.5 * noise) / now**0.5
            points = then**0.5 * clean + (1 - then) ** 0.5 * noise
        return points.cpu()

    return step


PAIRS: Final = (
    tuned(pictures_classified, "a convolutional network on batches by index", "cpu"),
    tuned(answers_from_a_cache, "answers with keys and values kept", "cpu"),
    tuned(molecules_in_one_graph, "molecules joined to one graph", "cpu"),
    tuned(speech_with_ready_filters, "speech with filters made once", "cpu"),
    tuned(process_of_few_points, "a Gaussian process by one factor", "cpu"),
    tuned(texts_on_the_device, "a language model, all on the device", DEVICE),
    tuned(towers_on_the_device, "two towers of a recommender, all on the device", DEVICE),
    tuned(shapes_from_noise, "a diffusion with factors known to the host", DEVICE),
)
