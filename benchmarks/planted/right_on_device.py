"""Right programs of the reference device, of kinds that no planted fault has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional
from torch.optim import swa_utils

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import BARE, BY_EVENTS, FULL, SHAPES, STACKS, RightProgram
from benchmarks.planted.right_on_host import LowRank, perceptron
from benchmarks.planted.tuned_on_device import Language

DEVICE: Final = "refdev"


def scaled_loss() -> Step:
    """Return training in mixed precision with a scaler of the loss."""
    model = perceptron(512, 1024, 1024, 32).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler(DEVICE)
    inputs, targets = torch.rand(256, 512).to(DEVICE), torch.randint(32, (256,)).to(DEVICE)

    def step() -> None:
        adam.zero_grad()
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(adam)
        scaler.update()

    return step


def heard_in_parts() -> Step:
    """Return a recurrent model of sound that keeps its state from one part to the next."""
    front, back = perceptron(80, 512, 256).to(DEVICE), perceptron(256, 512, 64).to(DEVICE)
    gates, own = nn.Linear(256, 512).to(DEVICE), nn.Linear(512, 256).to(DEVICE)
    sound = [torch.rand(64, 80) for _ in range(8)]
    state, number = torch.zeros(64, 256, device=DEVICE), 0

    @torch.no_grad()
    def step() -> torch.Tensor:
        nonlocal state, number
        said = []
        for _ in range(4):
            heard = front(sound[number % 8].to(DEVICE, non_blocking=True))
            number += 1
            kept, new = gates(heard).sigmoid().chunk(2, dim=-1)
            state = torch.lerp(
                state, torch.tanh(own(torch.cat((heard, new * state), dim=-1))), kept
            )
            said.append(back(state).argmax(dim=-1))
        return torch.stack(said).cpu()

    return step


class Experts(nn.Module):
    """Each token has one expert, and each expert has room for a fixed number of tokens."""

    def __init__(self, count: int, width: int, inner: int, room: int) -> None:
        super().__init__()
        self.count, self.room = count, room
        self.gate = nn.Linear(width, count)
        self.first = nn.Parameter(torch.randn(count, width, inner) * 0.05)
        self.second = nn.Parameter(torch.randn(count, inner, width) * 0.05)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return each token by its expert, times the gate's chance."""
        chance, expert = self.gate(tokens).softmax(dim=-1).max(dim=-1)
        chosen = functional.one_hot(expert, self.count)
        place = (chosen.cumsum(dim=0) * chosen).sum(dim=-1) - 1
        slot = torch.where(place < self.room, expert * self.room + place, self.count * self.room)
        slots = tokens.new_zeros(self.count * self.room + 1, tokens.shape[1])
        sent = slots.index_copy(0, slot, tokens)[:-1].view(self.count, self.room, -1)
        done = torch.bmm(functional.gelu(torch.bmm(sent, self.first)), self.second)
        back = functional.pad(done.flatten(0, 1), (0, 0, 0, 1)).index_select(0, slot)
        return torch.addcmul(tokens, back, chance.unsqueeze(-1))


def experts() -> Step:
    """Return training of a mixture of experts, sorted on the device."""
    model = nn.Sequential(Experts(4, 256, 512, 128), Experts(4, 256, 512, 128), nn.Linear(256, 64))
    model.to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, targets = torch.rand(384, 256).to(DEVICE), torch.randint(64, (384,)).to(DEVICE)

    def step() -> None:
        adam.zero_grad()
        functional.cross_entropy(model(inputs), targets).backward()
        adam.step()

    return step


def noise_removed() -> Step:
    """Return training of diffusion with an average of the weights."""
    model = perceptron(320, 1024, 1024, 256).to(DEVICE)
    average = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.999))
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    clear = torch.rand(192, 256).to(DEVICE)
    table, share = torch.rand(1000, 64).to(DEVICE), torch.linspace(0.99, 0.01, 1000).to(DEVICE)

    def step() -> None:
        time = torch.randint(1000, (192,), device=DEVICE)
        noise = torch.randn_like(clear)
        mixed = torch.lerp(noise, clear, share[time].unsqueeze(1))
        found = model(torch.cat((mixed, table[time]), dim=1))
        adam.zero_grad()
        functional.mse_loss(found, noise).backward()
        adam.step()
        average.update_parameters(model)

    return step


def random_codes() -> Step:
    """Return training of a variational autoencoder."""
    inner, outer = perceptron(784, 768, 128).to(DEVICE), perceptron(64, 768, 784).to(DEVICE)
    adam = torch.optim.Adam([*inner.parameters(), *outer.parameters()], fused=True)
    pixels = torch.rand(160, 784).to(DEVICE)

    def step() -> None:
        adam.zero_grad()
        mean, spread = inner(pixels).chunk(2, dim=-1)
        code = torch.addcmul(mean, torch.randn_like(mean), (0.5 * spread).exp())
        made = functional.binary_cross_entropy_with_logits(outer(code), pixels, reduction="sum")
        prior = -0.5 * (1 + spread - mean.square() - spread.exp()).sum()
        ((made + prior) / 160).backward()
        adam.step()

    return step


def three_at_once() -> Step:
    """Return training of vectors by an anchor, a like one and an unlike one."""
    model = perceptron(512, 768, 768, 128).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs = torch.rand(3 * 96, 512).to(DEVICE)

    def step() -> None:
        adam.zero_grad()
        anchor, like, unlike = functional.normalize(model(inputs), dim=-1).chunk(3)
        functional.triplet_margin_loss(anchor, like, unlike, margin=0.2).backward()
        adam.step()

    return step


@contextlib.contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Let a model's weights have no gradients for a while."""
    model.requires_grad_(False)
    yield
    model.requires_grad_(True)


def limited_slope() -> Step:
    """Return training of a maker and a critic whose slope is limited, the critic twice."""
    maker, critic = perceptron(64, 512, 256).to(DEVICE), perceptron(256, 512, 512, 1).to(DEVICE)
    own, other = (torch.optim.Adam(net.parameters(), fused=True) for net in (maker, critic))
    real = torch.rand(96, 256).to(DEVICE)

    def step() -> None:
        for _ in range(2):
            with torch.no_grad():
                made = maker(torch.randn(96, 64, device=DEVICE))
            between = torch.lerp(made, real, torch.rand(96, 1, device=DEVICE)).requires_grad_()
            (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
            limit = (slope.norm(dim=1) - 1).square().mean()
            other.zero_grad()
            (critic(made).mean() - critic(real).mean() + 10 * limit).backward()
            other.step()
        own.zero_grad()
        with frozen(critic):
            critic(maker(torch.randn(96, 64, device=DEVICE))).mean().neg().backward()
        own.step()

    return step


def adapters_on_device() -> Step:
    """Return fine-tuning of adapters of low rank."""
    layers = [layer for _ in range(3) for layer in (LowRank(512, 16), nn.GELU())]
    model = nn.Sequential(*layers, nn.Linear(512, 32).requires_grad_(False)).to(DEVICE)
    adam = torch.optim.AdamW(
        [each for each in model.parameters() if each.requires_grad], fused=True
    )
    inputs, targets = torch.rand(256, 512).to(DEVICE), torch.randint(32, (256,)).to(DEVICE)

    def step() -> None:
        adam.zero_grad()
        functional.cross_entropy(model(inputs), targets).backward()
        adam.step()

    return step


def perplexity() -> Step:
    """Return the loss of a language model on held-out texts, read once at the end."""
    words = 512
    model = Language(words, 256, 4, 2).to(DEVICE).eval()
    text = torch.randint(words, (3, 4, 49)).to(DEVICE)

    @torch.no_grad()
    def step() -> float:
        total = torch.zeros((), device=DEVICE)
        for part in text:
            total += functional.cross_entropy(model(part[:, :-1]), part[:, 1:].flatten())
        return (total / len(text)).exp().item()

    return step


def games_on_host() -> Step:
    """Return rounds of a policy whose environments are on the host, and wait for each action."""
    model = perceptron(64, 1024, 1024, 8).to(DEVICE)
    states = torch.rand(256, 64)

    @torch.no_grad()
    def step() -> None:
        nonlocal states
        for _ in range(4):
            actions = model(states.to(DEVICE)).argmax(dim=-1).cpu()
            states = states.roll(1, dims=1).add_(actions.unsqueeze(1), alpha=0.01).remainder_(1.0)

    return step


def split_vectors() -> Step:
    """Return training of an autoencoder whose codes are the nearest of a book."""
    inner, outer = perceptron(256, 768, 64).to(DEVICE), perceptron(64, 768, 256).to(DEVICE)
    book = nn.Parameter(torch.rand(512, 64).to(DEVICE))
    adam = torch.optim.AdamW([*inner.parameters(), *outer.parameters(), book], fused=True)
    inputs = torch.rand(320, 256).to(DEVICE)

    def step() -> None:
        adam.zero_grad()
        code = inner(inputs)
        with torch.no_grad():
            rows = torch.cdist(code, book).argmin(dim=1)
        near = book.index_select(0, rows)
        loss = functional.mse_loss(near, code.detach())
        loss = loss + 0.25 * functional.mse_loss(code, near.detach())
        (loss + functional.mse_loss(outer(code + (near - code).detach()), inputs)).backward()
        adam.step()

    return step


PROGRAMS: tuple[RightProgram, ...] = tuple(
    RightProgram(build.__name__, what, DEVICE, build, record)
    for build, what, record in (
        (scaled_loss, "mixed precision with a scaler", FULL),
        (heard_in_parts, "a recurrent model of sound, part by part", FULL),
        (experts, "a mixture of experts by places", FULL),
        (noise_removed, "diffusion with an average of the weights", BY_EVENTS),
        (random_codes, "a variational autoencoder", SHAPES),
        (three_at_once, "vectors by triplets", STACKS),
        (limited_slope, "a critic with a limited slope", FULL),
        (adapters_on_device, "adapters of low rank", FULL),
        (perplexity, "the loss of held-out texts", BARE),
        (games_on_host, "rounds with environments on the host", FULL),
        (split_vectors, "codes that are the nearest of a book", BY_EVENTS),
    )
)
