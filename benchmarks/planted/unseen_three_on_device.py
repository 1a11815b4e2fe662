"""Ordinary faults on the reference device; by the author of the host's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import DEVICE_SPEED, FASTER, SHORT, planted

DEVICE: Final = "refdev"

OfThree = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Attention by queries, keys and values, or a loss of what is found and seen where it counts."""


class Layer(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width: int, heads: int, attend: OfThree) -> None:
        super().__init__()
        self.heads, self.attend = heads, attend
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the next states of (texts, places, width)."""
        parts = self.joint(self.first(states)).unflatten(2, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = self.attend(query, key, value).transpose(1, 2).flatten(2)
        states = states + self.out(mixed)
        following: torch.Tensor = states + self.outer(
            functional.gelu(self.inner(self.second(states)))
        )
        return following


def encoder(words: int, width: int, layers: int) -> nn.Sequential:
    """Return a transformer that sees all of its text."""
    attend = functional.scaled_dot_product_attention
    return nn.Sequential(
        nn.Embedding(words, width), *(Layer(width, 4, attend) for _ in range(layers))
    )


def loss_read_at_each_batch() -> Forms:
    """Add losses up on the host batch by batch, or on the device until they are shown.

    From torchtune#522, ignite#240, joliGEN#374 and style-based-gan-pytorch#50.
    """
    features, labels = torch.rand(384, 96).to(DEVICE), torch.randint(16, (384,)).to(DEVICE)

    def form(at_each: bool) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(96, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128),
            nn.ReLU(), nn.Linear(128, 16),
        ).to(DEVICE)  # fmt: skip
        sgd = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, fused=True)

        def train(seen: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            loss = functional.cross_entropy(model(seen), right)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            return loss.detach()

        def step() -> float:
            batches = zip(features.split(64), labels.split(64), strict=True)
            if at_each:
                return sum(train(*batch).item() for batch in batches) / 6
            total = torch.zeros((), device=DEVICE)
            for batch in batches:
                total += train(*batch)
            return total.item() / 6

        return step

    return Forms(form(True), form(False))


def on_device(
    values: torch.Tensor, rewards: np.ndarray, ended: np.ndarray, discount: float, decay: float
) -> torch.Tensor:
    """Return advantages (times, worlds), time by time where the values (times + 1, worlds) are."""
    gained, goes_on = torch.from_numpy(rewards).to(DEVICE), torch.from_numpy(1 - ended).to(DEVICE)
    advantages = torch.zeros_like(gained)
    last = torch.zeros_like(gained[0])
    for time in reversed(range(len(gained))):
        surprise = gained[time] + discount * goes_on[time] * values[time + 1] - values[time]
        last = surprise + discount * decay * goes_on[time] * last
        advantages[time] = last
    return advantages


def on_host(
    values: torch.Tensor, rewards: np.ndarray, ended: np.ndarray, discount: float, decay: float
) -> torch.Tensor:
    """Return advantages (times, worlds), from values that are fetched for the host."""
    known, goes_on = values.cpu().numpy(), discount * (1 - ended)
    surprises = rewards + goes_on * known[1:] - known[:-1]
    last = np.zeros_like(rewards[0])
    for time in reversed(range(len(rewards))):
        last = surprises[time] + decay * goes_on[time] * last
        surprises[time] = last
    return torch.from_numpy(surprises).to(DEVICE)


def advantages_on_the_device() -> Forms:
    """Go back in time through a rollout in small kernels, or on the host that has the rewards.

    From batch-ppo#55, RL#4156 and recurrent-ppo-truncated-bptt#4.
    """
    times, worlds, random = 32, 8, np.random.default_rng(0)
    states, moves = torch.randn(times + 1, worlds, 32).to(DEVICE), torch.randn(256, 8).to(DEVICE)
    rewards = random.standard_normal((times, worlds), dtype=np.float32)
    ended = (random.random((times, worlds)) < 0.05).astype(np.float32)

    def form(host: bool) -> Step:
        torch.manual_seed(0)
        actor, critic = (
            nn.Sequential(
                nn.Linear(32, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh(), nn.Linear(96, out)
            ).to(DEVICE)
            for out in (8, 1)
        )
        weights = [*actor.parameters(), *critic.parameters()]
        sgd = torch.optim.SGD(weights, lr=1e-3, fused=True)
        estimate = on_host if host else on_device

        def errors_of(policy: nn.Module) -> torch.Tensor:
            acted: torch.Tensor = policy(states[:-1]).flatten(0, 1)
            return (acted - moves).square().mean(1)

        def step() -> torch.Tensor:
            with torch.no_grad():
                values = critic(states).squeeze(2)
                advantages = estimate(values, rewards, ended, 0.99, 0.95).flatten()
                returns = advantages + values[:-1].flatten()
                before = errors_of(actor)
            for _ in range(2):
                errors = errors_of(actor)
                ratio = (before - errors).exp()
                kept = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
                of_values = functional.mse_loss(critic(states[:-1]).flatten(), returns)
                loss = of_values - kept.mean()
                sgd.zero_grad()
                loss.backward()
                sgd.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


def causal_mask(places: int) -> torch.Tensor:
    """Return what to add to scores (places, places) to hide what comes later."""
    return torch.full((places, places), float("-inf")).triu(1)


def with_a_new_mask(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attend to what is before, by a mask made for the call."""
    mask = causal_mask(query.shape[2]).to(query.device)
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def with_a_kept_mask(places: int) -> OfThree:
    """Return what attends to what is before, by a mask made once."""
    return partial(
        functional.scaled_dot_product_attention, attn_mask=causal_mask(places).to(DEVICE)
    )


def mask_sent_at_each_layer() -> Forms:
    """Make a causal mask on the host and send it in each layer, or keep it on the device.

    From Megatron-DeepSpeed#411, FastVideo#1415, RAFT#113 and SoftRas#50.
    """
    tokens = torch.randint(500, (1, 193)).to(DEVICE)
    seen, following = tokens[:, :-1], tokens[:, 1:].flatten()

    def form(attend: OfThree) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Embedding(500, 64), *(Layer(64, 2, attend) for _ in range(6)), nn.Linear(64, 500)
        )
        model = model.to(DEVICE).eval()

        @torch.inference_mode()
        def step() -> torch.Tensor:
            return functional.cross_entropy(model(seen).flatten(0, 1), following)

        return step

    return Forms(form(with_a_new_mask), form(with_a_kept_mask(192)))


class Mover(nn.Module):
    """Takes noise from motions, told by a text what they should be."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.text = encoder(400, width, 2)
        self.enter, self.times = nn.Linear(24, width), nn.Embedding(1000, width)
        attend = functional.scaled_dot_product_attention
        self.layers = nn.Sequential(*(Layer(width, 4, attend) for _ in range(3)))
        self.leave = nn.Linear(width, 24)

    def told(self, words: torch.Tensor) -> torch.Tensor:
        """Return what texts say (texts, 1, width)."""
        meaning: torch.Tensor = self.text(words).mean(1, keepdim=True)
        return meaning

    def forward(
        self, noisy: torch.Tensor, time: torch.Tensor, meaning: torch.Tensor
    ) -> torch.Tensor:
        """Return the noise in motions (texts, frames, 24)."""
        states = self.enter(noisy) + self.times(time) + meaning
        noise: torch.Tensor = self.leave(self.layers(states))
        return noise


def text_read_at_each_time() -> Forms:
    """Encode the text of a motion at each step of its diffusion, or before the first.

    From motion-diffusion-model#151 and #152, threestudio#112.
    """
    words = torch.randint(400, (1, 24)).to(DEVICE)
    times = torch.arange(900, 0, -225).to(DEVICE)

    def form(once: bool) -> Step:
        torch.manual_seed(0)
        model = Mover(96).to(DEVICE).eval()

        @torch.inference_mode()
        def step() -> torch.Tensor:
            noisy = torch.randn(1, 32, 24, device=DEVICE)
            known = model.told(words) if once else None
            for time in times:
                meaning = model.told(words) if known is None else known
                noisy = noisy - 0.2 * model(noisy, time, meaning)
            return noisy

        return step

    return Forms(form(False), form(True))


def hidden_values_picked() -> Forms:
    """Pick the values that a model had to guess by a mask, or weigh all of them by it.

    From pytorch#12461, vision#9518, InnerEye-DeepLearning#272.
    """
    series = torch.randn(8, 32, 12).to(DEVICE)

    def picked(found: torch.Tensor, seen: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        return (found[hidden] - seen[hidden]).square().mean()

    def weighed(found: torch.Tensor, seen: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        return ((found - seen).square() * hidden).sum() / hidden.sum()

    def form(criterion: OfThree) -> Step:
        torch.manual_seed(0)
        attend = functional.scaled_dot_product_attention
        model = nn.Sequential(nn.Linear(12, 48), Layer(48, 4, attend), nn.Linear(48, 12)).to(DEVICE)
        sgd = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, fused=True)

        def step() -> torch.Tensor:
            losses = []
            for part in series.split(4):
                hidden = torch.rand_like(part) < 0.3
                loss = criterion(model(part.masked_fill(hidden, 0.0)), part, hidden)
                sgd.zero_grad()
                loss.backward()
                sgd.step()
                losses.append(loss.detach())
            return torch.stack(losses)

        return step

    return Forms(form(picked), form(weighed))


def passages_one_by_one() -> Forms:
    """Embed the passages of a document one by one, or as a batch.

    From sentence-transformers#201, sister#78 and FlagEmbedding#456.
    """
    passages = torch.randint(1, 600, (5, 24)).to(DEVICE)

    def form(together: bool) -> Step:
        torch.manual_seed(0)
        model = encoder(600, 80, 3).to(DEVICE).eval()

        def embedded(tokens: torch.Tensor) -> torch.Tensor:
            return functional.normalize(model(tokens).mean(1), dim=1)

        @torch.inference_mode()
        def step() -> torch.Tensor:
            if together:
                return embedded(passages).cpu()
            return torch.cat([embedded(passage.unsqueeze(0)) for passage in passages]).cpu()

        return step

    return Forms(form(False), form(True))


PAIRS: Final = (
    planted("loss_read_at_each_batch", "a loss read at each batch", loss_read_at_each_batch,
            settings=FASTER),
    planted("advantages_on_the_device", "advantages in small kernels, time by time",
            advantages_on_the_device, settings=FASTER),
    planted("mask_sent_at_each_layer", "a mask made on the host in each layer",
            mask_sent_at_each_layer, settings=SHORT),
    planted("text_read_at_each_time", "a text encoded in each step of a diffusion",
            text_read_at_each_time, settings=FASTER),
    planted("hidden_values_picked", "values picked by a mask", hidden_values_picked,
            settings=FASTER),
    planted("passages_one_by_one", "passages embedded one by one", passages_one_by_one,
            settings=DEVICE_SPEED),
)  # fmt: skip
