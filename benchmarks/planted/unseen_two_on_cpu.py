"""Faults of models of text, tables and images on a processor, as people report them."""

from __future__ import annotations

import itertools
from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.planted.fault import planted

LONGEST, WORDS = 160, 2000


class Classifier(nn.Module):
    """A small encoder of sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 128, padding_idx=0)
        self.places = nn.Embedding(LONGEST, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, 0.0, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(128, 5)

    def forward(self, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return scores of classes for words of [sentences, places]; the mask is of real words."""
        hidden = self.words(words) + self.places.weight[: words.shape[1]]
        hidden = self.encoder(hidden, src_key_padding_mask=~mask)
        scores: torch.Tensor = self.head(hidden[:, 0])
        return scores


class Collator:
    """Pads the sentences of a batch."""

    def __init__(self, padding: str) -> None:
        self.padding = padding

    def __call__(self, sentences: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the words of a batch, and which are real."""
        words = pad_sequence(sentences, batch_first=True)
        if self.padding == "max_length":
            words = functional.pad(words, (0, LONGEST - words.shape[1]))
        return words, words != 0


def padded_to_max_length() -> Forms:
    """Tune on sentences of a maximal length, or of the batch's longest.

    From DeepSpeedExamples#849, music-spectrogram-diffusion-pytorch#35, alpaca-lora#141.
    """
    lengths = torch.randn(4, 6).mul(0.5).exp().mul(45).int().clamp(6, LONGEST)
    data = [[torch.randint(1, WORDS, (int(each),)) for each in batch] for batch in lengths]
    labels = torch.randint(5, (6,))

    def form(padding: str) -> Step:
        model, collate, batches = Classifier(), Collator(padding), itertools.cycle(data)
        adam = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)

        def step() -> None:
            words, mask = collate(next(batches))
            loss = functional.cross_entropy(model(words, mask), labels)
            loss.backward()
            adam.step()
            adam.zero_grad()

        return step

    return Forms(form("max_length"), form("longest"))


def convolution(inner: int, outer: int, stride: int = 1) -> nn.Sequential:
    """Return a convolution with its normalization."""
    return nn.Sequential(
        nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(True)
    )


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(convolution(channels, channels), convolution(channels, channels))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the images with what the body adds."""
        result: torch.Tensor = images + self.body(images)
        return result


class Trainer:
    """A loop with the options that trainers have."""

    def __init__(self, model: nn.Module, *, detect_anomaly: bool = False) -> None:
        self.model, self.detect_anomaly = model, detect_anomaly
        self.optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9, fused=True)

    def training_step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch."""
        return functional.cross_entropy(self.model(images), labels, label_smoothing=0.1)

    def fit_batch(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        """Learn from a batch."""
        with torch.autograd.set_detect_anomaly(self.detect_anomaly):
            self.optimizer.zero_grad()
            self.training_step(images, labels).backward()
        self.optimizer.step()


def anomalies_looked_for() -> Forms:
    """Train on images with the anomaly detection of a past debugging, or without.

    From Lightning#12344 and #17359, nerf-pytorch#42, nerf_shared#10.
    """
    images, labels = torch.randn(8, 3, 32, 32), torch.randint(10, (8,))

    def form(detects: bool) -> Step:
        model = nn.Sequential(
            convolution(3, 16), Residual(16), convolution(16, 32, 2), Residual(32),
            convolution(32, 64, 2), Residual(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(64, 10),
        )  # fmt: skip
        trainer = Trainer(model, detect_anomaly=detects)
        return lambda: trainer.fit_batch(images, labels)

    return Forms(form(True), form(False))


class Segmenter(nn.Module):
    """A pretrained backbone, which stays as it is, below a head to be trained."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            convolution(3, 24, 2), Residual(24), convolution(24, 48, 2), Residual(48)
        )
        self.head = nn.Sequential(
            nn.Conv2d(48, 64, 1), nn.ReLU(), convolution(64, 48), nn.Conv2d(48, 16, 1),
            nn.PixelShuffle(4),
        )  # fmt: skip

    def train(self, mode: bool = True) -> Segmenter:
        """Keep the statistics of the backbone as they were learned."""
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return a score for each pixel."""
        scores: torch.Tensor = self.head(self.backbone(images))
        return scores


def backbone_in_the_graph() -> Forms:
    """Freeze a backbone by eval() and the optimizer's list alone, or for autograd as well.

    From 3dvnet#11, PyTorchConv3D#6, pytorch#120495, rf-detr#783.
    """
    pictures, wanted = torch.randn(8, 2, 3, 96, 96), torch.rand(8, 2, 1, 96, 96).round()

    def form(for_autograd: bool) -> Step:
        model = Segmenter().train()
        if for_autograd:
            model.backbone.requires_grad_(False)
        adam = torch.optim.AdamW(model.head.parameters(), lr=1e-3, fused=True)
        batches = itertools.cycle(zip(pictures, wanted, strict=True))

        def step() -> None:
            images, masks = next(batches)
            loss = functional.binary_cross_entropy_with_logits(model(images), masks)
            model.zero_grad()
            loss.backward()
            adam.step()

        return step

    return Forms(form(False), form(True))


SIZES: Final = tuple(5 + 37 * i % 400 for i in range(39))
"""Of the categories of each column."""


class EmbeddedColumns(nn.Module):
    """A table for each column of categories."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in SIZES)

    def forward(self, columns: torch.Tensor) -> torch.Tensor:
        """Return the vectors of all columns: [rows, columns, width]."""
        found = [table(columns[:, i]) for i, table in enumerate(self.tables)]
        return torch.stack(found, dim=1)


class JointColumns(nn.Module):
    """One table for all columns."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(sum(SIZES), width)
        begins = torch.tensor([0, *itertools.accumulate(SIZES[:-1])])
        self.begins = nn.Buffer(begins, persistent=False)

    def forward(self, columns: torch.Tensor) -> torch.Tensor:
        """Return the vectors of all columns: [rows, columns, width]."""
        found: torch.Tensor = self.table(columns + self.begins)
        return found


class FactorMachine(nn.Module):
    """Pairs of columns by a factorization machine, and a network beside it."""

    def __init__(self, columns: nn.Module, width: int) -> None:
        super().__init__()
        self.columns = columns
        self.deep = nn.Sequential(
            nn.Linear(len(SIZES) * width, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )  # fmt: skip

    def forward(self, columns: torch.Tensor) -> torch.Tensor:
        """Return a score for each row."""
        vectors = self.columns(columns)
        pairs = (vectors.sum(1).square() - vectors.square().sum(1)).sum(1) / 2
        scores: torch.Tensor = self.deep(vectors.flatten(1)).squeeze(1) + pairs
        return scores


def column_by_column() -> Forms:
    """Look up each column's categories in its own table, or all in a joint one.

    From elasticdl#1723, DeepGBM#17, tab-transformer-pytorch#20.
    """
    rows = torch.stack([torch.randint(size, (8, 256)) for size in SIZES], dim=2)
    clicks = torch.rand(8, 256).round()

    def form(kind: type[EmbeddedColumns | JointColumns]) -> Step:
        model = FactorMachine(kind(16), 16)
        adam = torch.optim.Adam(model.parameters(), fused=True)
        batches = itertools.cycle(zip(rows, clicks, strict=True))

        def step() -> None:
            columns, clicked = next(batches)
            adam.zero_grad()
            functional.binary_cross_entropy_with_logits(model(columns), clicked).backward()
            adam.step()

        return step

    return Forms(form(EmbeddedColumns), form(JointColumns))


def _timed(pair: Pair) -> Pair:
    """Return the pair, timed by the process's own time."""
    return replace(pair, of_process=True)


PAIRS: Final = tuple(
    _timed(planted(build.__name__, what, build, "cpu"))
    for build, what in (
        (padded_to_max_length, "sentences padded to a maximal length"),
        (anomalies_looked_for, "anomaly detection left on"),
        (backbone_in_the_graph, "gradients of a frozen backbone"),
        (column_by_column, "a table looked up for each column"),
    )
)
