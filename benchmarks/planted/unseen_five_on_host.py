"""Ordinary faults around a model, from what users were told to change; by another blind author."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from torchmetrics import MetricCollection, classification

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted

FOLDER: Final = tempfile.TemporaryDirectory()
"""The programs' pictures, until the process ends."""

LOG: Final = logging.getLogger("machines")
"""At its level, a debug message goes nowhere."""

LOG.setLevel(logging.INFO)

Batch = tuple[torch.Tensor, ...]


def endless(loader: DataLoader[Batch]) -> Iterator[Batch]:
    """Yield the batches of one epoch after the other."""
    while True:
        yield from loader


def letters_from_people() -> list[str]:
    """Return mails of words that come up again and again."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, rng.integers(2, 11))) for _ in range(3000)]
    return [" ".join(words[i] for i in rng.zipf(1.3, 90) % 3000) for _ in range(256)]


class Mails(Dataset[Batch]):
    """Mails in tokens, and their kinds."""

    def __init__(self, count: int, find: Callable[[int], torch.Tensor]) -> None:
        self.count, self.find = count, find

    def __len__(self) -> int:
        """Return how many mails there are."""
        return self.count

    def __getitem__(self, index: int) -> Batch:
        """Return the tokens of a mail, and its kind."""
        return self.find(index), torch.tensor(index % 5)


def padded(batch: list[Batch]) -> Batch:
    """Return the mails of a batch in one tensor."""
    texts, kinds = zip(*batch, strict=True)
    return pad_sequence(list(texts), batch_first=True), torch.stack(kinds)


def mail_sorted() -> Forms:
    """Cut mails into tokens whenever a batch has them, or once before the training.

    From https://github.com/marin-community/marin/pull/900,
    https://github.com/stanford-oval/genienlp/pull/47 and
    https://github.com/huggingface/sentence-transformers/issues/334.
    """
    mails = letters_from_people()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(mails, trainers.BpeTrainer(vocab_size=1500, show_progress=False))
    tokenizer.enable_truncation(128)

    def cut(mail: str) -> torch.Tensor:
        return torch.tensor(tokenizer.encode(mail).ids)

    def form(find: Callable[[int], torch.Tensor]) -> Step:
        torch.manual_seed(0)
        words = nn.Embedding(1500, 64)
        reader = nn.Sequential(nn.Conv1d(64, 96, 5), nn.ReLU(), nn.AdaptiveMaxPool1d(1))
        model = nn.Sequential(words, reader, nn.Flatten(), nn.Linear(96, 5))
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        data = endless(DataLoader(Mails(len(mails), find), batch_size=32, collate_fn=padded))

        def step() -> torch.Tensor:
            texts, kind = next(data)
            adam.zero_grad()
            hidden = reader(words(texts).transpose(1, 2))
            loss = functional.cross_entropy(model[2:](hidden), kind)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    before = [cut(mail) for mail in mails]
    return Forms(form(lambda number: cut(mails[number])), form(before.__getitem__))


class Leaves(Dataset[Batch]):
    """Photographs of leaves in files, made small for the network."""

    def __init__(self, paths: list[Path], side: int, *, draft: bool) -> None:
        self.paths, self.side, self.draft = paths, side, draft

    def __len__(self) -> int:
        """Return how many photographs there are."""
        return len(self.paths)

    def __getitem__(self, index: int) -> Batch:
        """Return a photograph and its grade."""
        wanted = (self.side, self.side)
        with Image.open(self.paths[index]) as photograph:
            if self.draft:
                photograph.draft("RGB", wanted)
            small = photograph.convert("RGB").resize(wanted, Image.Resampling.BILINEAR)
        pixels = torch.from_numpy(np.array(small)).permute(2, 0, 1)
        return pixels.float().div_(255), torch.tensor(index % 4)


def leaves_graded() -> Forms:
    """Decode all pixels of photographs to shrink them, or let the decoder shrink them.

    From https://github.com/roboflow/rf-detr/pull/1389,
    https://github.com/pytorch/vision/issues/8986 and https://github.com/open-mmlab/mmcv/pull/214.
    """
    rng = np.random.default_rng(0)
    paths = [Path(FOLDER.name) / f"leaf_{number}.jpg" for number in range(24)]
    for path in paths:
        coarse = Image.fromarray(rng.integers(256, size=(30, 40, 3), dtype=np.uint8))
        coarse.resize((640, 480), Image.Resampling.BICUBIC).save(path, quality=90)

    def form(draft: bool) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2), nn.BatchNorm2d(64), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4),
        )  # fmt: skip
        sgd = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, fused=True)
        data = endless(DataLoader(Leaves(paths, 80, draft=draft), batch_size=6))

        def step() -> torch.Tensor:
            photographs, grades = next(data)
            sgd.zero_grad()
            loss = functional.cross_entropy(model(photographs), grades)
            loss.backward()
            sgd.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


def words_embedded() -> Forms:
    """Draw the wrong neighbors of each word by itself, or those of a batch at once.

    From https://github.com/kefirski/pytorch_NEG_loss/issues/2,
    https://github.com/theeluwin/pytorch-sgns/issues/9 and
    https://github.com/Stonesjtu/Pytorch-NCE/issues/19.
    """
    words, wrong = 1200, 6
    rng = np.random.default_rng(0)
    often = rng.zipf(1.2, words).clip(max=10_000).astype(np.float64) ** 0.75
    shares = often / often.sum()
    weights = torch.from_numpy(shares)
    pairs = torch.randint(words, (64, 2, 128))

    def each(count: int) -> torch.Tensor:
        drawn = [rng.choice(words, wrong, p=shares) for _ in range(count)]
        return torch.from_numpy(np.stack(drawn))

    def at_once(count: int) -> torch.Tensor:
        return torch.multinomial(weights, count * wrong, replacement=True).view(count, wrong)

    def form(draw: Callable[[int], torch.Tensor]) -> Step:
        torch.manual_seed(0)
        center, around = nn.Embedding(words, 300), nn.Embedding(words, 300)
        sgd = torch.optim.SGD([*center.parameters(), *around.parameters()], lr=0.1, fused=True)
        number = 0

        def step() -> torch.Tensor:
            nonlocal number
            middle, near = pairs[number % len(pairs)]
            number += 1
            sgd.zero_grad()
            vectors = center(middle)
            right = (vectors * around(near)).sum(1)
            false = torch.bmm(around(draw(len(middle))), vectors.unsqueeze(2)).squeeze(2)
            loss = -functional.logsigmoid(right).mean() - functional.logsigmoid(-false).mean()
            loss.backward()
            sgd.step()
            return loss.detach()

        return step

    return Forms(form(each), form(at_once))


def x_rays_scored() -> Forms:
    """Compute scores of each batch and of all together, or add up and compute at the end.

    From https://github.com/Lightning-AI/torchmetrics/issues/1217,
    https://github.com/Lightning-AI/torchmetrics/issues/126 and
    https://github.com/Lightning-AI/torchmetrics/pull/984.
    """
    pictures, found = torch.rand(12, 1, 48, 48), torch.randint(2, (12, 14))

    def form(each: bool) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 24, 5, stride=2), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, 48, 3, stride=2), nn.BatchNorm2d(48), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 14),
        )  # fmt: skip
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        scores = MetricCollection([
            classification.MultilabelAUROC(14, thresholds=50),
            classification.MultilabelF1Score(14),
            classification.MultilabelAccuracy(14),
        ])  # fmt: skip
        number = 0

        def step() -> torch.Tensor:
            nonlocal number
            adam.zero_grad()
            logits = model(pictures)
            loss = functional.binary_cross_entropy_with_logits(logits, found.float())
            loss.backward()
            adam.step()
            chances = logits.detach().sigmoid()
            if each:
                scores(chances, found)
            else:
                scores.update(chances, found)
            number += 1
            if number % 100 == 0:
                LOG.info("scores: %s", scores.compute())
                scores.reset()
            return loss.detach()

        return step

    return Forms(form(True), form(False))


class Watch(nn.Module):
    """Measurements of machines, made small and made again, with messages for who debugs it."""

    def __init__(self, width: int, sizes: tuple[int, ...], *, lazy: bool) -> None:
        super().__init__()
        both = [width, *sizes, *sizes[-2::-1], width]
        self.layers = nn.ModuleList(map(nn.Linear, both[:-1], both[1:]))
        self.lazy = lazy

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the measurements as the network remembers them."""
        for number, layer in enumerate(self.layers):
            hidden = layer(functional.silu(hidden) if number else hidden)
            if self.lazy:
                LOG.debug("layer %d: %s", number, hidden)
            else:
                LOG.debug(f"layer {number}: {hidden}")
        return hidden


def machines_watched() -> Forms:
    """Write tensors into messages that nobody wants, or leave that to the logger.

    From https://github.com/facebookresearch/HolisticTraceAnalysis/pull/140,
    https://github.com/BerriAI/litellm/issues/3443 and
    https://docs.astral.sh/ruff/rules/logging-f-string.
    """
    measured = torch.randn(256, 120)

    def form(lazy: bool) -> Step:
        torch.manual_seed(0)
        model = Watch(120, (384, 192, 16), lazy=lazy)
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

        def step() -> torch.Tensor:
            adam.zero_grad()
            loss = functional.mse_loss(model(measured), measured)
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


PAIRS: Final = (
    planted("mail_sorted", "tokens are found once", mail_sorted, "cpu"),
    planted("leaves_graded", "photographs shrink as they are decoded", leaves_graded, "cpu"),
    planted("words_embedded", "one draw for a batch", words_embedded, "cpu"),
    planted("x_rays_scored", "scores of all batches at the end", x_rays_scored, "cpu"),
    planted("machines_watched", "messages are written if wanted", machines_watched, "cpu"),
)
