"""Ordinary faults around an accelerator, from what users report; by the author of the host's."""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np
import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import FASTER, SHORT, planted

DEVICE: Final = "refdev"

Cache = tuple[torch.Tensor, torch.Tensor]


class Block(nn.Module):
    """A residual block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width), nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state with what the block adds."""
        return hidden + self.outer(functional.gelu(self.inner(self.norm(hidden))))


class Layer(nn.Module):
    """A causal layer that keeps keys and values of earlier words."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.block = nn.LayerNorm(width), Block(width)
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor, cache: Cache | None) -> tuple[torch.Tensor, Cache]:
        """Return the hidden state, and the keys and values so far."""
        query, key, value = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in self.inward(self.norm(hidden)).chunk(3, 2)
        )
        if cache is not None:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=cache is None)
        hidden = hidden + self.outward(mixed.transpose(1, 2).flatten(2))
        return self.block(hidden), (key, value)


class Writer(nn.Module):
    """A language model."""

    def __init__(self, words: int, width: int, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(128, width)
        self.layers = nn.ModuleList([Layer(width, 4) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(
        self, words: torch.Tensor, caches: list[Cache] | None = None, *, only_last: bool = False
    ) -> tuple[torch.Tensor, list[Cache]]:
        """Return scores of the next words, and what to keep."""
        start = 0 if caches is None else caches[0][0].shape[2]
        places = torch.arange(start, start + words.shape[1], device=words.device)
        hidden, kept = self.words(words) + self.places(places), []
        for number, layer in enumerate(self.layers):
            hidden, cache = layer(hidden, None if caches is None else caches[number])
            kept.append(cache)
        wanted = hidden[:, -1:] if only_last else hidden
        return self.head(self.norm(wanted)), kept


def story_continued() -> Forms:
    """Score every position of a prompt, or the last one, which the next word comes from.

    From https://github.com/huggingface/transformers/issues/38977 and
    https://github.com/karpathy/nanoGPT/issues/42.
    """
    torch.manual_seed(0)
    model = Writer(4096, 96, 3).to(DEVICE).eval()
    prompt = torch.randint(4096, (2, 48)).to(DEVICE)

    def form(only_last: bool) -> Step:
        @torch.inference_mode()
        def step() -> torch.Tensor:
            scores, caches = model(prompt, only_last=only_last)
            written = [scores[:, -1].argmax(1, keepdim=True)]
            for _ in range(5):
                scores, caches = model(written[-1], caches)
                written.append(scores[:, -1].argmax(1, keepdim=True))
            return torch.cat(written, 1)

        return step

    return Forms(form(False), form(True))


def advantages(rewards: torch.Tensor, values: torch.Tensor, going: torch.Tensor) -> torch.Tensor:
    """Return the advantages of what was done, by the recurrence of GAE."""
    found, last = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + 0.99 * values[t + 1] * going[t] - values[t]
        last = delta + 0.99 * 0.95 * going[t] * last
        found[t] = last
    return found


def gae(rewards: np.ndarray, values: np.ndarray, going: np.ndarray) -> np.ndarray:
    """Return the same, computed where the rollout is."""
    found, last = np.zeros_like(rewards), np.zeros_like(rewards[0])
    deltas = rewards + np.float32(0.99) * values[1:] * going - values[:-1]
    decay = np.float32(0.99 * 0.95) * going
    for t in reversed(range(len(rewards))):
        found[t] = last = deltas[t] + decay[t] * last
    return found


def sent(*arrays: np.ndarray) -> list[torch.Tensor]:
    """Return arrays as tensors on the device."""
    return [torch.from_numpy(array).to(DEVICE, non_blocking=True) for array in arrays]


def walker_updated() -> Forms:
    """Compute advantages by small kernels, step by step, or on the host before the copy.

    From https://github.com/Denys88/rl_games/pull/346,
    https://github.com/thu-ml/tianshou/issues/483 and https://github.com/pytorch/rl/pull/1153.
    """
    rng = np.random.default_rng(0)
    rewards, values = (rng.normal(size=(t, 16)).astype(np.float32) for t in (24, 25))
    going = (rng.uniform(size=(24, 16)) > 0.05).astype(np.float32)
    seen, done = (rng.normal(size=(384, wide)).astype(np.float32) for wide in (24, 6))

    def form(on_device: bool) -> Step:
        torch.manual_seed(0)
        actor, critic = (
            nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), last)
            for last in (nn.Linear(64, 6), nn.Linear(64, 1))
        )
        model = nn.ModuleList([actor, critic]).to(DEVICE)
        adam = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True)

        def step() -> torch.Tensor:
            states, actions = sent(seen, done)
            if on_device:
                rollout = sent(rewards, values, going)
                gains = advantages(*rollout)
                returns = gains + rollout[1][:-1]
            else:
                computed = gae(rewards, values, going)
                gains, returns = sent(computed, computed + values[:-1])
            weights = (gains - gains.mean()) / (gains.std() + 1e-8)
            for _ in range(2):
                adam.zero_grad()
                chance = -(actor(states) - actions).square().sum(1) / 2
                missed = functional.mse_loss(critic(states).squeeze(1), returns.flatten())
                loss = missed - (weights.flatten() * chance).mean()
                loss.backward()
                adam.step()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


def decoded(best: torch.Tensor) -> list[str]:
    """Return the text of each utterance: repeated letters and blanks are dropped."""
    texts = []
    for frames in best:
        text, last = "", 0
        for frame in frames:
            letter = int(frame.item())
            text += chr(96 + letter) if letter not in (last, 0) else ""
            last = letter
        texts.append(text)
    return texts


def decoded_on_host(best: torch.Tensor) -> list[str]:
    """Return the same, of letters copied at once."""
    texts = []
    for letters in best.tolist():
        changes = [b for a, b in zip([0, *letters], letters, strict=False) if b not in (a, 0)]
        texts.append("".join(chr(96 + letter) for letter in changes))
    return texts


def speech_to_text() -> Forms:
    """Read the letter of each frame from the device, or of all frames in one copy.

    From https://github.com/NVIDIA-NeMo/Speech/pull/8521 and
    https://github.com/NVIDIA-NeMo/Speech/issues/8891.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(400, 256), Block(256), nn.Linear(256, 27)).to(DEVICE).eval()
    frames = torch.randn(2, 24, 400).to(DEVICE)

    def form(one_by_one: bool) -> Step:
        @torch.inference_mode()
        def step() -> list[str]:
            best = model(frames).argmax(2)
            return decoded(best) if one_by_one else decoded_on_host(best)

        return step

    return Forms(form(True), form(False))


def topics_learned() -> Forms:
    """Give the optimizer a group for each weight, or one for each rate and decay.

    From https://github.com/roboflow/rf-detr/pull/1409 and
    https://github.com/deepspeedai/DeepSpeed/issues/2125.
    """
    words, topics = torch.randint(500, (16, 8)).to(DEVICE), torch.randint(8, (16,)).to(DEVICE)

    def group(weights: list[nn.Parameter], bias: bool) -> dict[str, Any]:
        rate, decay = (2e-3, 0.0) if bias else (1e-3, 0.01)
        return {"params": weights, "lr": rate, "weight_decay": decay}

    def form(each: bool) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Embedding(500, 48), *(Block(48) for _ in range(12)), nn.Linear(48, 8)
        ).to(DEVICE)
        named = [(weight, "bias" in name) for name, weight in model.named_parameters()]
        groups = [group([weight], bias) for weight, bias in named]
        if not each:
            groups = [group([w for w, is_bias in named if is_bias == b], b) for b in (True, False)]
        adam = torch.optim.AdamW(groups, fused=True)

        def step() -> torch.Tensor:
            adam.zero_grad()
            loss = functional.cross_entropy(model(words).mean(1), topics)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


class Denoiser(nn.Module):
    """The noise in a latent picture at a time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(16, width), nn.Linear(width, 16)
        self.times = nn.Embedding(1000, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(4)))

    def forward(self, latent: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        """Return the noise."""
        hidden = self.blocks(self.inward(latent) + self.times(time))
        noise: torch.Tensor = self.outward(hidden)
        return noise


def pictures_sampled() -> Forms:
    """Look up the noise schedule by times on the device, or by numbers of the host.

    From https://github.com/huggingface/diffusers/issues/9485,
    https://github.com/huggingface/diffusers/pull/9475 and
    https://github.com/AUTOMATIC1111/stable-diffusion-webui/pull/15823.
    """
    torch.manual_seed(0)
    model = Denoiser(128).to(DEVICE).eval()
    start = torch.randn(2, 64, 16).to(DEVICE)
    kept = (1 - torch.linspace(1e-4, 0.02, 1000)).cumprod(0)
    numbers = list(range(975, -1, -75))
    times = torch.tensor(numbers).to(DEVICE)
    levels = kept.tolist()

    @torch.inference_mode()
    def by_times() -> torch.Tensor:
        latent = start
        for time in times:
            before = time - 75
            level = kept[time]
            next_level = kept[before] if before >= 0 else torch.tensor(1.0)
            noise = model(latent, time)
            clean = (latent - (1 - level).sqrt() * noise) / level.sqrt()
            latent = next_level.sqrt() * clean + (1 - next_level).sqrt() * noise
        return latent

    @torch.inference_mode()
    def by_numbers() -> torch.Tensor:
        latent = start
        for number, time in zip(numbers, times, strict=True):
            level, next_level = levels[number], levels[number - 75] if number >= 75 else 1.0
            noise = model(latent, time)
            clean = (latent - (1 - level) ** 0.5 * noise) / level**0.5
            latent = next_level**0.5 * clean + (1 - next_level) ** 0.5 * noise
        return latent

    return Forms(by_times, by_numbers)


class Album(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Pictures and their kinds, where they are wanted."""

    def __init__(self, pictures: torch.Tensor, kinds: torch.Tensor, device: str) -> None:
        self.pictures, self.kinds, self.device = pictures, kinds, device

    def __len__(self) -> int:
        """Return how many pictures there are."""
        return len(self.kinds)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a picture and its kind."""
        picture = self.pictures[index].float().div_(255)
        return picture.to(self.device), self.kinds[index].to(self.device)


def pictures_copied() -> Forms:
    """Copy each picture as a data set fetches it, or the batch that they make.

    From https://github.com/PaccMann/paccmann_datasets/issues/105 and
    https://github.com/open-spaced-repetition/fsrs-optimizer/pull/197.
    """
    pictures, kinds = torch.randint(256, (512, 3, 32, 32)).byte(), torch.randint(10, (512,))

    def form(device: str) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Flatten(), nn.Linear(3072, 256), nn.GELU(), *(Block(256) for _ in range(4)),
            nn.Linear(256, 10),
        ).to(DEVICE)  # fmt: skip
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        loader = DataLoader(Album(pictures, kinds, device), batch_size=24)
        data = itertools.chain.from_iterable(itertools.repeat(loader))

        def step() -> torch.Tensor:
            shown, kind = (each.to(DEVICE, non_blocking=True) for each in next(data))
            adam.zero_grad()
            loss = functional.cross_entropy(model(shown), kind)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(DEVICE), form("cpu"))


def songs_recommended() -> Forms:
    """Repeat each listener for all candidates and sum products, or multiply matrices.

    From https://github.com/massquantity/LibRecommender/pull/275 and
    https://github.com/fastai/course-v3/pull/566.
    """
    heard = torch.randint(2000, (96, 20)).to(DEVICE)
    offered = torch.randint(2000, (96, 24)).to(DEVICE)
    first = torch.zeros(96, dtype=torch.int64).to(DEVICE)

    def form(repeated: bool) -> Step:
        torch.manual_seed(0)
        songs = nn.Embedding(2000, 48)
        tower = nn.Sequential(nn.Linear(48, 128), nn.ReLU(), nn.Linear(128, 48))
        model = nn.ModuleList([songs, tower]).to(DEVICE)
        adagrad = torch.optim.Adagrad(model.parameters(), lr=0.01)

        def step() -> torch.Tensor:
            listeners, candidates = tower(songs(heard).mean(1)), songs(offered)
            if repeated:
                each = listeners.unsqueeze(1).repeat(1, candidates.shape[1], 1)
                scores = (each * candidates).sum(2)
            else:
                scores = torch.bmm(candidates, listeners.unsqueeze(2)).squeeze(2)
            adagrad.zero_grad()
            loss = functional.cross_entropy(scores, first)
            loss.backward()
            adagrad.step()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


PAIRS: Final = (
    planted("story_continued", "scores of the last position only", story_continued),
    planted("walker_updated", "advantages on the host", walker_updated, settings=SHORT),
    planted("speech_to_text", "one copy of all letters", speech_to_text),
    planted("topics_learned", "two groups of weights", topics_learned, settings=SHORT),
    planted("pictures_sampled", "a schedule of the host", pictures_sampled, settings=FASTER),
    planted("pictures_copied", "batches are copied", pictures_copied, settings=SHORT),
    planted("songs_recommended", "a product of matrices", songs_recommended),
)
