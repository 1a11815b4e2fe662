"""Right programs that were written when the rules were finished, and judged once."""

from __future__ import annotations

import itertools
from typing import Any, Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import BARE, BY_EVENTS, FULL, SHAPES, STACKS, RightProgram
from benchmarks.planted.right_on_host import perceptron
from benchmarks.planted.tuned_on_device import fused_attention

HOST: Final = "cpu"
DEVICE: Final = "refdev"


def transported() -> Step:
    """Return the cheapest transport between two sets of points, by rounds that need each other."""
    left, right = torch.rand(384, 8), torch.rand(384, 8)
    share = torch.full((384,), -6.0)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        cost = torch.cdist(left, right).div_(-0.05)
        rows, columns = torch.zeros(384, 1), torch.zeros(1, 384)
        for _ in range(10):
            rows = (share - torch.logsumexp(cost + columns, dim=1)).unsqueeze(1)
            columns = (share - torch.logsumexp(cost + rows, dim=0)).unsqueeze(0)
        return (cost + rows + columns).exp_()

    return step


def cleaned_sound() -> Step:
    """Return a mask over the spectrum of sound, and the sound behind it."""
    window = torch.hann_window(512)
    model = perceptron(257, 384, 257).eval()
    sound = torch.rand(8, 16000)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        waves = torch.stft(sound, 512, 256, window=window, return_complex=True)
        mask = model(waves.abs().transpose(1, 2)).sigmoid().transpose(1, 2)
        clean: torch.Tensor = torch.istft(waves * mask, 512, 256, window=window, length=16000)
        return clean

    return step


class Parts(nn.Module):
    """The parts of a picture, by convolutions down and up again."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner = self.block(3, 16), self.block(16, 32)
        self.up, self.last = nn.ConvTranspose2d(32, 16, 2, stride=2), self.block(32, 16)
        self.head = nn.Conv2d(16, 5, 1)

    @staticmethod
    def block(inputs: int, outputs: int) -> nn.Sequential:
        """Return a convolution with its norm and activation."""
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )  # fmt: skip

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the scores of each place."""
        first = self.first(pixels)
        inner = self.inner(functional.max_pool2d(first, 2))
        scores: torch.Tensor = self.head(self.last(torch.cat((first, self.up(inner)), dim=1)))
        return scores


def parts_of_pictures() -> Step:
    """Return training of segmentation in channels last."""
    model: Any = Parts()
    model.to(memory_format=torch.channels_last)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    pixels = torch.rand(4, 3, 64, 64).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(5, (4, 64, 64))

    def step() -> None:
        sgd.zero_grad()
        functional.cross_entropy(model(pixels), labels).backward()
        sgd.step()

    return step


def gradients_of_each() -> Step:
    """Return training with noise on gradients that are limited sample by sample."""
    model = perceptron(64, 128, 8)
    names, weights = zip(*model.named_parameters(), strict=True)
    sgd = torch.optim.SGD(weights, lr=0.1, fused=True)
    inputs, targets = torch.rand(64, 64), torch.randint(8, (64,))

    def loss(values: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        scores = torch.func.functional_call(model, values, (x.unsqueeze(0),))
        return functional.cross_entropy(scores, y.unsqueeze(0))

    of_each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))

    def step() -> None:
        values = {name: each.detach() for name, each in zip(names, weights, strict=True)}
        found = of_each(values, inputs, targets)
        size = torch.stack([found[name].flatten(1).norm(dim=1) for name in names]).norm(dim=0)
        factor = (1 / size).clamp(max=1)
        for name, weight in zip(names, weights, strict=True):
            total = torch.tensordot(factor, found[name], dims=1)
            weight.grad = total.add_(torch.randn_like(total)).div_(len(inputs))
        sgd.step()

    return step


def guessed_ahead() -> Step:
    """Return decoding by a small model, whose guesses a greater one checks at once."""
    words, width, ahead = 512, 256, 4
    small = nn.Sequential(nn.Embedding(words, 128), nn.Linear(128, words)).to(DEVICE).eval()
    great = nn.Sequential(nn.Embedding(words, width), perceptron(width, 1024, 1024, words))
    great.to(DEVICE).eval()
    last = torch.randint(words, (64, 1)).to(DEVICE)

    @torch.no_grad()
    def step() -> None:
        nonlocal last
        said = [last]
        for _ in range(ahead):
            said.append(small(said[-1]).argmax(dim=-1))
        text = torch.cat(said, dim=1)
        checked = great(text).argmax(dim=-1)
        same = (checked[:, :-1] == text[:, 1:]).int().cumprod(dim=1)
        last = checked.gather(1, same.sum(dim=1, keepdim=True))

    return step


class Patches(nn.Module):
    """A vision transformer's layers over patches that arrive as they are."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.enter, self.head = nn.Linear(48, width), nn.Linear(width, 10)
        self.norm, self.parts = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.mix, self.rest = nn.Linear(width, width), perceptron(width, 2 * width, width)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        """Return the scores of each picture."""
        hidden = self.enter(patches)
        count, places, width = hidden.shape
        parts = self.parts(self.norm(hidden)).view(count, places, 3, self.heads, -1)
        query, keys, values = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = fused_attention(query, keys, values, causal=False).transpose(1, 2)
        hidden = hidden + self.mix(mixed.reshape(count, places, width))
        scores: torch.Tensor = self.head((hidden + self.rest(hidden)).mean(dim=1))
        return scores


def masked_patches() -> Step:
    """Return training on pictures without a random half of their patches."""
    model = Patches(192, 4).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    pictures, labels = torch.rand(16, 64, 48).to(DEVICE), torch.randint(10, (16,)).to(DEVICE)

    def step() -> None:
        adam.zero_grad()
        kept = torch.rand(16, 64, device=DEVICE).topk(32, dim=1).indices
        seen = pictures.gather(1, kept.unsqueeze(-1).expand(-1, -1, 48))
        functional.cross_entropy(model(seen), labels).backward()
        adam.step()

    return step


def two_critics() -> Step:
    """Return updates of an actor and of two critics; the lesser one counts."""
    actor, one, two = (
        perceptron(inputs, 384, 384, outputs).to(DEVICE)
        for inputs, outputs in ((24, 12), (30, 1), (30, 1))
    )
    own = torch.optim.Adam(actor.parameters(), fused=True)
    both = torch.optim.Adam(itertools.chain(one.parameters(), two.parameters()), fused=True)
    states, moves, goals = (torch.rand(256, size).to(DEVICE) for size in (24, 6, 1))

    def step() -> None:
        both.zero_grad()
        pair = torch.cat((states, moves), dim=1)
        (functional.mse_loss(one(pair), goals) + functional.mse_loss(two(pair), goals)).backward()
        both.step()
        mean, spread = actor(states).chunk(2, dim=-1)
        move = torch.tanh(torch.addcmul(mean, torch.randn_like(mean), spread.exp()))
        pair = torch.cat((states, move), dim=1)
        own.zero_grad()
        for critic in (one, two):
            critic.requires_grad_(False)
        torch.minimum(one(pair), two(pair)).mean().neg().backward()
        for critic in (one, two):
            critic.requires_grad_(True)
        own.step()

    return step


def named_documents() -> Step:
    """Return vectors of documents whose words come from the host, batch by batch."""
    words = nn.Embedding(4096, 256).to(DEVICE)
    model = perceptron(256, 1024, 1024, 256).to(DEVICE).eval()
    batches = [torch.randint(4096, (256, 32)).pin_memory(DEVICE) for _ in range(3)]
    found = torch.empty(3 * 256, 256, device=DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        for place, batch in enumerate(batches):
            documents = batch.to(DEVICE, non_blocking=True)
            vectors = functional.normalize(model(words(documents).mean(dim=1)), dim=-1)
            found[place * 256 : (place + 1) * 256] = vectors
        return found.cpu()

    return step


PROGRAMS: tuple[RightProgram, ...] = (
    RightProgram(transported.__name__, "transport of points", HOST, transported, FULL),
    RightProgram(cleaned_sound.__name__, "a mask of sound", HOST, cleaned_sound, SHAPES),
    RightProgram(parts_of_pictures.__name__, "segmentation", HOST, parts_of_pictures, FULL),
    RightProgram(
        gradients_of_each.__name__, "gradients of each sample", HOST, gradients_of_each, STACKS
    ),
    RightProgram(guessed_ahead.__name__, "speculative decoding", DEVICE, guessed_ahead, FULL),
    RightProgram(
        masked_patches.__name__, "a half of the patches", DEVICE, masked_patches, BY_EVENTS
    ),
    RightProgram(two_critics.__name__, "an actor and two critics", DEVICE, two_critics, FULL),
    RightProgram(named_documents.__name__, "vectors of documents", DEVICE, named_documents, BARE),
)
