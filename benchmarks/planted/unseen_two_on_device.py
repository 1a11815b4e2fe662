"""Faults on the reference device as people report them in issues of libraries; written blind."""

from __future__ import annotations

from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, SHORT, planted

DEVICE: Final = "refdev"


class DenoisingBlock(nn.Module):
    """Attention and a network over the patches of a picture, modulated by time and class."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.modulation = nn.Linear(width, 2 * width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, patches: torch.Tensor, about: torch.Tensor) -> torch.Tensor:
        """Return patches of [pictures, places, width]."""
        shift, scale = self.modulation(about).unsqueeze(1).chunk(2, dim=2)
        hidden = self.first(patches) * (1 + scale) + shift
        query, key, value = self.joint(hidden).unflatten(2, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        patches = patches + self.out(mixed.transpose(1, 2).flatten(2))
        inner = functional.gelu(self.inner(self.second(patches)))
        result: torch.Tensor = patches + self.outer(inner)
        return result


class Denoiser(nn.Module):
    """Predicts the noise in patches."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.classes, self.times = nn.Embedding(11, width), nn.Embedding(1000, width)
        self.enter, self.leave = nn.Linear(16, width), nn.Linear(width, 16)
        self.blocks = nn.ModuleList(DenoisingBlock(width) for _ in range(blocks))

    def forward(
        self, noisy: torch.Tensor, time: torch.Tensor, classes: torch.Tensor
    ) -> torch.Tensor:
        """Return the noise in patches of [pictures, places, 16]."""
        about, hidden = self.classes(classes) + self.times(time), self.enter(noisy)
        for block in self.blocks:
            hidden = block(hidden, about)
        noise: torch.Tensor = self.leave(hidden)
        return noise


def guided_by_two_passes() -> Forms:
    """Run a denoiser with and without its class one after the other, or in one batch.

    From mattergen#203, transformers#24536, classifier_free_ddim#1.
    """
    times = torch.arange(900, 0, -300).to(DEVICE)
    classes = torch.tensor([3]).to(DEVICE)
    nothing = torch.full_like(classes, 10)
    both_classes = torch.cat([classes, nothing])

    def form(apart: bool) -> Step:
        model = Denoiser(256, 3).to(DEVICE).eval()

        def guided(noisy: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
            if apart:
                with_class = model(noisy, time, classes)
                without = model(noisy, time, nothing)
            else:
                both = model(torch.cat([noisy, noisy]), time, both_classes)
                with_class, without = both.chunk(2)
            return torch.lerp(without, with_class, 4.0)

        @torch.no_grad()
        def step() -> torch.Tensor:
            noisy = torch.randn(1, 32, 16, device=DEVICE)
            for time in times:
                noisy = noisy - 0.1 * guided(noisy, time)
            return noisy

        return step

    return Forms(form(True), form(False))


def kept_of_pictures() -> torch.Tensor:
    """Return what is kept of a picture at each time."""
    return torch.linspace(1, 0.99, 1000).cumprod(0)


class Sampler:
    """Takes noise away in jumps, with its tables where the model is."""

    def __init__(self, model: Denoiser, jumps: int) -> None:
        self.model, self.jump = model, 1000 // jumps
        self.times = torch.arange(999, 0, -self.jump).to(DEVICE)
        self.kept, self.all = kept_of_pictures().to(DEVICE), torch.ones((), device=DEVICE)

    def take(self, noise: torch.Tensor, time: torch.Tensor, noisy: torch.Tensor) -> torch.Tensor:
        """Return what is less noisy."""
        before = time - self.jump
        now = self.kept[time]
        then = self.kept[before] if before >= 0 else self.all
        clean = (noisy - (1 - now).sqrt() * noise) / now.sqrt()
        return then.sqrt() * clean + (1 - then).sqrt() * noise

    @torch.no_grad()
    def sample(self, noisy: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        """Return pictures as patches."""
        for time in self.times:
            noisy = self.take(self.model(noisy, time, classes), time, noisy)
        return noisy


class PlannedSampler(Sampler):
    """The same, with the factors of all jumps known beforehand."""

    def __init__(self, model: Denoiser, jumps: int) -> None:
        super().__init__(model, jumps)
        kept = kept_of_pictures().tolist()
        self.factors = [
            (kept[time], kept[time - self.jump] if time >= self.jump else 1.0)
            for time in range(999, 0, -self.jump)
        ]

    @torch.no_grad()
    def sample(self, noisy: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        """Return pictures as patches."""
        for time, (now, then) in zip(self.times, self.factors, strict=True):
            noise = self.model(noisy, time, classes)
            clean = (noisy - (1 - now) ** 0.5 * noise) / now**0.5
            noisy = then**0.5 * clean + (1 - then) ** 0.5 * noise
        return noisy


def schedule_beside_the_model() -> Forms:
    """Look factors of a schedule up on the device, or know them on the host.

    From diffusers#9475, #9485, #10642 and #11696.
    """
    classes = torch.arange(4).to(DEVICE)

    def form(kind: type[Sampler]) -> Step:
        sampler = kind(Denoiser(128, 2).to(DEVICE).eval(), 4)
        return lambda: sampler.sample(torch.randn(4, 32, 16, device=DEVICE), classes)

    return Forms(form(Sampler), form(PlannedSampler))


class ActorCritic(nn.Module):
    """Means and values of states; the width of actions is learned."""

    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = self.network(12), self.network(1)
        self.log_std = nn.Parameter(torch.zeros(12))

    @staticmethod
    def network(outputs: int) -> nn.Sequential:
        """Return a network of two hidden layers."""
        return nn.Sequential(
            nn.Linear(48, 128), nn.ELU(), nn.Linear(128, 128), nn.ELU(), nn.Linear(128, outputs)
        )


def validated_actions() -> Forms:
    """Build distributions of actions that check their arguments, or that do not.

    From skrl#233, ray#50440, rsl_rl#69, pytorch#66800.
    """
    count = 768
    states, actions = torch.randn(count, 48).to(DEVICE), torch.randn(count, 12).to(DEVICE)
    before, gained = torch.randn(count).sub(17).to(DEVICE), torch.randn(count).to(DEVICE)

    def form(validate: bool | None) -> Step:
        policy = ActorCritic().to(DEVICE)
        optimizer = torch.optim.SGD(policy.parameters(), lr=3e-4, momentum=0.9, fused=True)

        def loss_of(rows: torch.Tensor) -> torch.Tensor:
            seen, wanted = states.index_select(0, rows), gained.index_select(0, rows)
            means = policy.actor(seen)
            chosen = Normal(means, policy.log_std.exp().expand_as(means), validate_args=validate)
            found = chosen.log_prob(actions.index_select(0, rows)).sum(1)
            ratio = (found - before.index_select(0, rows)).exp()
            surrogate = torch.minimum(ratio * wanted, ratio.clamp(0.8, 1.2) * wanted).mean()
            errors = functional.mse_loss(policy.critic(seen).squeeze(1), wanted)
            return 0.5 * errors - surrogate - 0.01 * chosen.entropy().mean()

        def step() -> None:
            for rows in torch.randperm(count, device=DEVICE).split(count // 3):
                optimizer.zero_grad()
                loss_of(rows).backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5, foreach=True)
                optimizer.step()

        return step

    return Forms(form(None), form(False))


PAIRS: Final = (
    planted("guided_by_two_passes", "two passes for classifier-free guidance",
            guided_by_two_passes, settings=FASTER),
    planted("schedule_beside_the_model", "factors of a diffusion schedule read on the device",
            schedule_beside_the_model, settings=FASTER),
    planted("validated_actions", "distributions that check their arguments",
            validated_actions, settings=SHORT),
)  # fmt: skip
