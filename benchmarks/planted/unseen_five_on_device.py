"""Ordinary faults around an accelerator, from what users change; by the same author."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import SHORT, planted

DEVICE: Final = "refdev"


def block(width: int) -> nn.Sequential:
    """Return what a residual block adds."""
    return nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
    )


class Body(nn.Module):
    """A residual network from one width to another."""

    def __init__(self, inner: int, width: int, blocks: int, outer: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(inner, width), nn.Linear(width, outer)
        self.blocks = nn.ModuleList([block(width) for _ in range(blocks)])

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the outputs."""
        hidden = self.inward(hidden)
        for each in self.blocks:
            hidden = hidden + each(hidden)
        outputs: torch.Tensor = self.outward(hidden)
        return outputs


class Tables(nn.Module):
    """A table for each kind of feature."""

    def __init__(self, sizes: list[int], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(size, width) for size in sizes])

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the vectors of all features, side by side."""
        found = [table(features[:, number]) for number, table in enumerate(self.tables)]
        return torch.cat(found, 1)


class OneTable(nn.Module):
    """The tables of all kinds of features below each other."""

    def __init__(self, sizes: list[int], width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(sum(sizes), width)
        self.starts = nn.Buffer(torch.tensor([0, *sizes[:-1]]).cumsum(0))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the vectors of all features, side by side."""
        vectors: torch.Tensor = self.table(features + self.starts).flatten(1)
        return vectors


def hotels_booked() -> Forms:
    """Look each kind of feature up in a table of its own, or all in one table.

    From https://github.com/motefly/DeepGBM/issues/17,
    https://github.com/lucidrains/tab-transformer-pytorch/issues/20 and
    https://github.com/rixwew/pytorch-fm/issues/4.
    """
    sizes = [
        40, 7, 12, 300, 150, 90, 24, 31, 5, 60, 200, 17, 80, 33, 9, 120, 25, 14, 70, 6, 45, 110,
        3, 50,
    ]  # fmt: skip
    features = torch.stack([torch.randint(size, (192,)) for size in sizes], 1).to(DEVICE)
    booked = torch.randint(2, (192, 1)).float().to(DEVICE)

    def form(tables: type[Tables] | type[OneTable]) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(tables(sizes, 8), Body(192, 96, 1, 1)).to(DEVICE)
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

        def step() -> torch.Tensor:
            adam.zero_grad()
            loss = functional.binary_cross_entropy_with_logits(model(features), booked)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(Tables), form(OneTable))


Change = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def discouraged(scores: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """Return scores that are worse for words of a verse, word by word."""
    for row in range(len(scores)):
        for word in set(written[row].tolist()):
            if scores[row, word] < 0:
                scores[row, word] *= 1.3
            else:
                scores[row, word] /= 1.3
    return scores


def discouraged_at_once(scores: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """Return the same, for the words of all verses at once."""
    known = scores.gather(1, written)
    return scores.scatter(1, written, torch.where(known < 0, known * 1.3, known / 1.3))


def verses_written() -> Forms:
    """Discourage words that a verse has, one after the other or by gather and scatter.

    From https://github.com/huggingface/transformers/issues/5345,
    https://github.com/huggingface/transformers/issues/8596 and
    https://github.com/Comfy-Org/ComfyUI/pull/14645.
    """
    torch.manual_seed(0)
    words = nn.Embedding(2000, 48).to(DEVICE)
    body = Body(8 * 48, 256, 6, 2000).to(DEVICE).eval()
    begin = torch.randint(2000, (2, 8)).to(DEVICE)

    def form(change: Change) -> Step:
        @torch.inference_mode()
        def step() -> torch.Tensor:
            written = begin
            for _ in range(4):
                scores = change(body(words(written[:, -8:]).flatten(1)), written)
                written = torch.cat([written, scores.argmax(1, keepdim=True)], 1)
            return written.cpu()

        return step

    return Forms(form(discouraged), form(discouraged_at_once))


def transported(costs: torch.Tensor, every: int) -> torch.Tensor:
    """Return how much goes from each row to each column, tested in one round of ``every``."""
    kernel = torch.exp(-costs / 0.1)
    wanted = 1 / len(costs)
    rows = torch.ones_like(costs[:, :1])
    for number in range(1, 41):
        columns = wanted / (kernel.T @ rows)
        rows = wanted / (kernel @ columns)
        if number % every == 0:
            missing = (columns * (kernel.T @ rows) - wanted).abs().sum()
            if missing.item() < 1e-9:
                break
    return rows * kernel * columns.T


def cells_matched() -> Forms:
    """Test after each round of Sinkhorn's algorithm for its end, or after ten rounds.

    From https://github.com/PythonOT/POT, whose ``bregman.py`` says it of its own loop, and
    https://github.com/artyomovlab/dualsimplex/pull/40.
    """
    before, after = torch.rand(96, 64).to(DEVICE), torch.rand(96, 64).to(DEVICE)

    def form(every: int) -> Step:
        torch.manual_seed(0)
        encoder = Body(64, 128, 2, 16).to(DEVICE)
        adam = torch.optim.Adam(encoder.parameters(), lr=1e-3, fused=True)

        def step() -> torch.Tensor:
            one = functional.normalize(encoder(before), dim=1)
            other = functional.normalize(encoder(after), dim=1)
            costs = 1 - one @ other.T
            with torch.no_grad():
                plan = transported(costs, every)
            adam.zero_grad()
            loss = (plan * costs).sum()
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(1), form(10))


def clouds_denoised() -> Forms:
    """Draw times and noise on the host and copy them, or draw them where they are needed.

    From https://github.com/atong01/conditional-flow-matching/issues/102,
    https://github.com/open-mmlab/mmsegmentation/issues/3231 and
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html.
    """
    clouds = torch.rand(96, 1024).to(DEVICE)
    level = (1 - torch.linspace(1e-4, 0.02, 1000)).cumprod(0).to(DEVICE)

    def form(on_host: bool) -> Step:
        torch.manual_seed(0)
        times, body = nn.Embedding(1000, 1024).to(DEVICE), Body(1024, 96, 2, 1024).to(DEVICE)
        adam = torch.optim.AdamW([*times.parameters(), *body.parameters()], lr=1e-4, fused=True)

        def step() -> torch.Tensor:
            if on_host:
                time = torch.randint(1000, (len(clouds),)).to(DEVICE)
                noise = torch.randn(clouds.shape).to(DEVICE)
            else:
                time = torch.randint(1000, (len(clouds),), device=DEVICE)
                noise = torch.randn_like(clouds)
            kept = level[time, None]
            mixed = kept.sqrt() * clouds + (1 - kept).sqrt() * noise
            adam.zero_grad()
            loss = functional.mse_loss(body(mixed + times(time)), noise)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


class Experts(nn.Module):
    """A layer of which each word uses one part."""

    def __init__(self, width: int, experts: int, *, sort: bool) -> None:
        super().__init__()
        self.gate, self.sort = nn.Linear(width, experts), sort
        self.experts = nn.ModuleList([block(width) for _ in range(experts)])

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state with what the experts add."""
        weight, chosen = self.gate(hidden).softmax(1).max(1)
        if self.sort:
            order = chosen.argsort()
            counts = functional.one_hot(chosen, len(self.experts)).sum(0).tolist()
            parts = hidden[order].split(counts)
            made = [expert(part) for expert, part in zip(self.experts, parts, strict=True)]
            added = torch.zeros_like(hidden).index_copy(0, order, torch.cat(made))
        else:
            added = torch.zeros_like(hidden)
            for number, expert in enumerate(self.experts):
                mine = chosen == number
                if mine.any():
                    added[mine] = expert(hidden[mine])
        return hidden + weight[:, None] * added


def recipes_understood() -> Forms:
    """Look for the words of each expert by a mask, or sort the words by experts once.

    From https://github.com/jingyaogong/minimind/issues/835 and
    https://github.com/jingyaogong/minimind/pull/837.
    """
    steps, kinds = torch.randint(1000, (128,)).to(DEVICE), torch.randint(20, (128,)).to(DEVICE)

    def form(sort: bool) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Embedding(1000, 96), Experts(96, 6, sort=sort), Experts(96, 6, sort=sort),
            nn.Linear(96, 20),
        ).to(DEVICE)  # fmt: skip
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> torch.Tensor:
            adam.zero_grad()
            loss = functional.cross_entropy(model(steps), kinds)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


def reports_summarized() -> Forms:
    """Scale gradients though bfloat16 reaches as far as float32, or leave them.

    From https://github.com/ecmwf/WeatherGenerator/issues/874,
    https://github.com/huggingface/accelerate/pull/1036 and
    https://github.com/decoderesearch/SAELens/pull/723.
    """
    reports, kinds = torch.randn(128, 256).to(DEVICE), torch.randint(16, (128,)).to(DEVICE)

    def form(scaled: bool) -> Step:
        torch.manual_seed(0)
        model = Body(256, 96, 5, 16).to(DEVICE)
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3)
        scaler = torch.amp.GradScaler(DEVICE, enabled=scaled)

        def step() -> torch.Tensor:
            adam.zero_grad()
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = functional.cross_entropy(model(reports), kinds)
            scaler.scale(loss).backward()
            scaler.unscale_(adam)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(adam)
            scaler.update()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


def harvest_forecast() -> Forms:
    """Add the squares of all weights to the loss, or let the optimizer decay the weights.

    From https://discuss.pytorch.org/t/how-pytorch-implement-weight-decay/8436 and
    https://androidkt.com/weight-decay-parameter-for-sgd-optimizer-in-pytorch.
    """
    weather, harvest = torch.randn(96, 128).to(DEVICE), torch.rand(96, 1).to(DEVICE)

    def form(by_hand: bool) -> Step:
        torch.manual_seed(0)
        model = Body(128, 96, 5, 1).to(DEVICE)
        biases = [weight for name, weight in model.named_parameters() if "bias" in name]
        others = [weight for name, weight in model.named_parameters() if "bias" not in name]
        groups: list[dict[str, Any]] = [
            {"params": biases},
            {"params": others, "weight_decay": 0.0 if by_hand else 2e-4},
        ]
        sgd = torch.optim.SGD(groups, lr=1e-2, momentum=0.9, fused=True)

        def step() -> torch.Tensor:
            sgd.zero_grad()
            loss = functional.mse_loss(model(weather), harvest)
            if by_hand:
                for name, weight in model.named_parameters():
                    if "bias" not in name:
                        loss = loss + 1e-4 * weight.pow(2).sum()
            loss.backward()
            sgd.step()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


PAIRS: Final = (
    planted("hotels_booked", "one table for all features", hotels_booked, settings=SHORT),
    planted("verses_written", "all words discouraged at once", verses_written),
    planted("cells_matched", "a test after ten rounds", cells_matched, settings=SHORT),
    planted("clouds_denoised", "noise is drawn on the device", clouds_denoised, settings=SHORT),
    planted("recipes_understood", "words are sorted by experts", recipes_understood),
    planted("reports_summarized", "gradients are not scaled", reports_summarized, settings=SHORT),
    planted("harvest_forecast", "the optimizer decays weights", harvest_forecast, settings=SHORT),
)
