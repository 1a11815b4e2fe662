"""More ordinary faults on a processor, by the author of ``unseen_one_on_host``."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted


def of_each_anchor(found: torch.Tensor, labels: torch.Tensor, margin: float) -> torch.Tensor:
    """Return the loss of the hardest triplets of embeddings (items, width), in a loop."""
    losses = []
    for i in range(len(found)):
        distances = (found - found[i]).pow(2).sum(1).clamp(min=1e-9).sqrt()
        same = labels == labels[i]
        losses.append(functional.relu(distances[same].max() - distances[~same].min() + margin))
    return torch.stack(losses).mean()


def of_all_anchors(found: torch.Tensor, labels: torch.Tensor, margin: float) -> torch.Tensor:
    """Return the loss of the hardest triplets of embeddings (items, width), by one matrix."""
    distances, same = torch.cdist(found, found), labels.unsqueeze(0) == labels.unsqueeze(1)
    furthest = distances.masked_fill(~same, 0.0).amax(1)
    nearest = distances.masked_fill(same, float("inf")).amin(1)
    return functional.relu(furthest - nearest + margin).mean()


def hardest_by_anchor() -> Forms:
    """Look for the hardest triplets item by item, or in the matrix of all distances."""
    pictures, people = torch.rand(64, 1, 28, 28), torch.arange(64) // 4

    def form(loops: bool) -> Step:
        embed = nn.Sequential(
            nn.Conv2d(1, 24, 5, stride=2, padding=2), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.Flatten(), nn.Linear(64 * 49, 64),
        )  # fmt: skip
        sgd = torch.optim.SGD(embed.parameters(), lr=1e-2, momentum=0.9, fused=True)
        criterion = of_each_anchor if loops else of_all_anchors

        def step() -> None:
            loss = criterion(functional.normalize(embed(pictures), dim=1), people, 0.3)
            sgd.zero_grad()
            loss.backward()
            sgd.step()

        return step

    return Forms(form(True), form(False))


def balanced(roads: torch.Tensor) -> torch.Tensor:
    """Return a graph's weights (nodes, nodes) with loops, divided by the roots of the degrees."""
    with_loops = roads + torch.eye(len(roads))
    scale = with_loops.sum(1).rsqrt()
    return scale.unsqueeze(1) * with_loops * scale.unsqueeze(0)


class Sensors(nn.Module):
    """Graph convolutions over the sensors of a road network that never changes."""

    roads: torch.Tensor

    def __init__(self, roads: torch.Tensor, width: int, ready: bool) -> None:
        super().__init__()
        self.ready = ready
        self.register_buffer("roads", balanced(roads) if ready else roads)
        self.mixes = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, 12)

    def forward(self, speeds: torch.Tensor) -> torch.Tensor:
        """Return the next speeds (sensors, 12) from features (sensors, width)."""
        hidden = speeds
        for mix in self.mixes:
            weights = self.roads if self.ready else balanced(self.roads)
            hidden = hidden + functional.relu(weights @ mix(hidden))
        forecast: torch.Tensor = self.head(hidden)
        return forecast


def balanced_in_each_layer() -> Forms:
    """Scale a fixed graph by its degrees in each layer, or once when the model is made."""
    places = torch.rand(900, 2)
    roads = torch.exp(-torch.cdist(places, places).square() / 0.02)
    history, future = torch.rand(900, 96), torch.rand(900, 12)

    def form(ready: bool) -> Step:
        model = Sensors(roads, 96, ready)
        adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            adam.zero_grad()
            functional.l1_loss(model(history), future).backward()
            adam.step()

        return step

    return Forms(form(False), form(True))


def doubled_for_numpy() -> Forms:
    """Give the model the scaled table's float64 and make it double, or cast the table once."""
    table = np.random.default_rng(0).gamma(2.0, 10.0, size=(2000, 16))
    scaled = (table - table.mean(0)) / table.std(0)

    class Forecast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru, self.head = nn.GRU(16, 128, batch_first=True), nn.Linear(128, 16)

        def forward(self, windows: torch.Tensor) -> torch.Tensor:
            states, _ = self.gru(windows)
            forecast: torch.Tensor = self.head(states[:, -1])
            return forecast

    def fit(values: np.ndarray, model: nn.Module) -> Step:
        series, starts = torch.from_numpy(values), torch.randint(1900, (48,))
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        places = starts.unsqueeze(1) + torch.arange(33)

        def step() -> None:
            windows = series[places]
            loss = functional.mse_loss(model(windows[:, :-1]), windows[:, -1])
            adam.zero_grad()
            loss.backward()
            adam.step()

        return step

    return Forms(fit(scaled, Forecast().double()), fit(scaled.astype(np.float32), Forecast()))


class Encoder(nn.Module):
    """One layer of a ranker, with dropout as it was trained."""

    def __init__(self, width: int, heads: int, drop: float = 0.1) -> None:
        super().__init__()
        self.heads, self.drop = heads, drop
        self.inputs, self.outputs = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(drop), nn.Linear(4 * width, width)
        )
        self.dropout = nn.Dropout(drop)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the next states (texts, places, width)."""
        parts = self.inputs(self.before(states)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, dropout_p=self.drop if self.training else 0.0
        )
        states = states + self.dropout(self.outputs(mixed.transpose(1, 2).flatten(2)))
        return states + self.dropout(self.perceptron(self.between(states)))


def served_as_trained() -> Forms:
    """Rank passages with a model as training left it, or in evaluation, without gradients."""
    passages = torch.randint(3000, (6, 40))

    class Ranker(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(3000, 192)
            self.layers = nn.Sequential(*(Encoder(192, 6) for _ in range(4)))
            self.head = nn.Linear(192, 1)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(self.layers(self.words(tokens))[:, 0]).squeeze(-1)
            return scores

    def as_trained() -> Step:
        ranker = Ranker()

        def step() -> list[int]:
            ranked: list[int] = ranker(passages).argsort(descending=True).tolist()
            return ranked

        return step

    def in_evaluation() -> Step:
        ranker = Ranker().eval()

        @torch.inference_mode()
        def step() -> list[int]:
            ranked: list[int] = ranker(passages).argsort(descending=True).tolist()
            return ranked

        return step

    return Forms(as_trained(), in_evaluation())


class Denoiser(nn.Module):
    """Predicts the noise of small latents from their step."""

    def __init__(self, width: int = 448, blocks: int = 3) -> None:
        super().__init__()
        self.times, self.inputs = nn.Embedding(1000, width), nn.Linear(64, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(),
                nn.Linear(2 * width, width),
            )
            for _ in range(blocks)
        )  # fmt: skip
        self.outputs = nn.Linear(width, 64)

    def forward(self, noisy: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        """Return the noise (latents, 64)."""
        hidden = self.inputs(noisy) + self.times(time)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        noise: torch.Tensor = self.outputs(hidden)
        return noise


def averaged_by_state() -> Forms:
    """Average a denoiser's weights by a new dictionary of copies, or in place and together."""
    latents, decay = torch.randn(48, 64), 0.999
    kept = torch.cos(torch.linspace(0.01, 1.5, 1000)).square()

    def form(by_state: bool) -> Step:
        model = Denoiser()
        adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        together = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
        average = {name: value.clone() for name, value in model.state_dict().items()}

        def step() -> None:
            nonlocal average
            time, noise = torch.randint(1000, (48,)), torch.randn_like(latents)
            share = kept[time].unsqueeze(1)
            noisy = share.sqrt() * latents + (1 - share).sqrt() * noise
            functional.mse_loss(model(noisy, time), noise).backward()
            adam.step()
            adam.zero_grad()
            if by_state:
                now = {name: value.detach().clone() for name, value in model.state_dict().items()}
                average = {
                    name: decay * average[name] + (1 - decay) * value for name, value in now.items()
                }
            else:
                together.update_parameters(model)

        return step

    return Forms(form(True), form(False))


PAIRS: Final = tuple(
    replace(planted(build.__name__, what, build, "cpu"), of_process=True)
    for build, what in (
        (hardest_by_anchor, "the hardest triplets, item by item"),
        (balanced_in_each_layer, "a fixed graph scaled in each layer"),
        (doubled_for_numpy, "a model made double for its data"),
        (served_as_trained, "inference with dropout and gradients"),
        (averaged_by_state, "averaged weights as copies of the state"),
    )
)
