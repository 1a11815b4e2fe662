"""More faults on the reference device: of graphs, points, texts and speech; written blind."""

from __future__ import annotations

import itertools
from typing import Final, cast

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import DEVICE_SPEED, FASTER, planted

DEVICE: Final = "refdev"


class EdgeMessages(nn.Module):
    """A layer of a graph net whose messages are of both ends of an edge."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(2 * width, width)
        self.update = nn.Linear(2 * width, width)

    def messages(
        self, nodes: torch.Tensor, source: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """Return a message for each edge: [edges, width]."""
        ends = torch.cat([nodes.index_select(0, target), nodes.index_select(0, source)], dim=1)
        found: torch.Tensor = self.message(ends)
        return found

    def forward(
        self, nodes: torch.Tensor, source: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """Return nodes of [nodes, width] that know their neighbours."""
        sent = functional.silu(self.messages(nodes, source, target))
        heard = torch.zeros_like(nodes).index_add_(0, target, sent)
        return nodes + functional.silu(self.update(torch.cat([nodes, heard], dim=1)))


class NodeMessages(EdgeMessages):
    """The same layer, which multiplies before it gathers."""

    def messages(
        self, nodes: torch.Tensor, source: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """Return a message for each edge: [edges, width]."""
        to, by = self.message.weight.chunk(2, dim=1)
        heard = functional.linear(nodes, to, self.message.bias)
        sent = functional.linear(nodes, by)
        return heard.index_select(0, target) + sent.index_select(0, source)


def product_of_edges() -> Forms:
    """Multiply the joined ends of all edges, or the nodes before they are joined.

    From pytorch#71300, pytorch_scatter#297, pytorch_geometric#261.
    """
    width, count, edges = 64, 150, 1000
    features, wanted = torch.randn(count, width).to(DEVICE), torch.randn(count, 1).to(DEVICE)
    source, target = torch.randint(count, (2, edges)).to(DEVICE)

    def form(layer: type[EdgeMessages]) -> Step:
        layers = nn.ModuleList(layer(width) for _ in range(2)).to(DEVICE)
        head = nn.Linear(width, 1).to(DEVICE)
        learned = [*layers.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(learned, lr=1e-3, fused=True)

        def step() -> None:
            nodes = features
            for each in layers:
                nodes = each(nodes, source, target)
            functional.mse_loss(head(nodes), wanted).backward()
            optimizer.step()
            optimizer.zero_grad()

        return step

    return Forms(form(EdgeMessages), form(NodeMessages))


def neighbours_of(points: torch.Tensor, count: int) -> torch.Tensor:
    """Return the numbers of the nearest points: [clouds, points, count]."""
    return torch.cdist(points, points).topk(count, dim=2, largest=False).indices


def gathered(features: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Return the features of neighbours: [clouds, points, count, width]."""
    clouds, points, count = numbers.shape
    flat = numbers.reshape(clouds, points * count, 1).expand(-1, -1, features.shape[2])
    return features.gather(1, flat).view(clouds, points, count, -1)


class PointLayer(nn.Module):
    """The strongest of what a point hears of its neighbours."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.own, self.other = nn.Linear(inner, outer), nn.Linear(inner, outer, bias=False)

    def forward(self, features: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """Return features of [clouds, points, outer]."""
        heard = gathered(self.other(features), numbers).amax(2)
        return functional.relu(self.own(features) + heard)


class PointNet(nn.Module):
    """Layers over neighbours in space, and a class for each cloud."""

    def __init__(self, *, once: bool) -> None:
        super().__init__()
        widths = (3, 48, 48, 64)
        self.layers = nn.ModuleList(map(PointLayer, widths, widths[1:]))
        self.head, self.once = nn.Linear(64, 40), once

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """Return scores of classes for points of [clouds, points, 3]."""
        features, numbers = points, neighbours_of(points, 8)
        for i, layer in enumerate(self.layers):
            if i and not self.once:
                numbers = neighbours_of(points, 8)
            features = layer(features, numbers)
        scores: torch.Tensor = self.head(features.amax(1))
        return scores


def neighbours_in_each_layer() -> Forms:
    """Search the neighbours in space in each layer, or once.

    From pytorch-dgcnn#3, Point-BERT#42, dgcnn#14.
    """
    points, labels = torch.randn(8, 2, 320, 3).to(DEVICE), torch.randint(40, (8, 2)).to(DEVICE)

    def form(once: bool) -> Step:
        model = PointNet(once=once).to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)

        batches = itertools.cycle(zip(points, labels, strict=True))

        def step() -> None:
            clouds, classes = next(batches)
            optimizer.zero_grad()
            functional.cross_entropy(model(clouds), classes).backward()
            optimizer.step()

        return step

    return Forms(form(False), form(True))


class Decoder(nn.Module):
    """A language model, whose scores may be of the last positions only."""

    def __init__(self, width: int = 192, words: int = 4096) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.joint = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(3))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.inner = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(3))
        self.outer = nn.ModuleList(nn.Linear(3 * width, width) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(7))
        self.lm_head = nn.Linear(width, words, bias=False)

    def forward(self, words: torch.Tensor, logits_to_keep: int = 0) -> torch.Tensor:
        """Return scores of words: [texts, kept positions, words]; all positions for 0."""
        hidden = self.words(words)
        for i, (joint, out) in enumerate(zip(self.joint, self.out, strict=True)):
            parts = joint(self.norms[2 * i](hidden)).unflatten(2, (3, 4, -1))
            query, key, value = parts.permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            hidden = hidden + out(mixed.transpose(1, 2).flatten(2))
            inner = functional.gelu(self.inner[i](self.norms[2 * i + 1](hidden)))
            hidden = hidden + self.outer[i](inner)
        scores: torch.Tensor = self.lm_head(self.norms[-1](hidden[:, -logits_to_keep:]))
        return scores


def scores_of_the_prompt() -> Forms:
    """Score the words behind each position of a prompt, or behind the last one.

    From transformers#38977, nanoGPT#42, mlx-vlm#1750.
    """
    prompts = torch.randint(4096, (8, 1, 96)).to(DEVICE)
    model = Decoder().to(DEVICE).eval()

    def form(kept: int) -> Step:
        turns = itertools.cycle(prompts)

        @torch.no_grad()
        def step() -> torch.Tensor:
            scores = model(next(turns), logits_to_keep=kept)
            return scores[:, -1].topk(8).indices

        return step

    return Forms(form(0), form(1))


class CrossAttention(nn.Module):
    """Attention of a word on the sounds that an encoder heard."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.query = nn.LayerNorm(width), nn.Linear(width, width)
        self.key, self.value = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.kept: tuple[torch.Tensor, torch.Tensor] | None = None

    def of_sounds(self, sounds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values: [speakers, heads, sounds, width of a head]."""
        key = self.key(sounds).unflatten(2, (4, -1)).transpose(1, 2)
        return key, self.value(sounds).unflatten(2, (4, -1)).transpose(1, 2)

    def keep(self, sounds: torch.Tensor) -> None:
        """Compute keys and values for all words to come."""
        self.kept = self.of_sounds(sounds)

    def forward(self, words: torch.Tensor, sounds: torch.Tensor) -> torch.Tensor:
        """Return words of [speakers, 1, width]."""
        key, value = self.of_sounds(sounds) if self.kept is None else self.kept
        query = self.query(self.norm(words)).unflatten(2, (4, -1)).transpose(1, 2)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        result: torch.Tensor = words + self.out(mixed.transpose(1, 2).flatten(2))
        return result


class Writer(nn.Module):
    """Writes down what an encoder heard, greedily, with a recurrent state."""

    def __init__(self, width: int = 128, words: int = 1024) -> None:
        super().__init__()
        self.words, self.state = nn.Embedding(words, width), nn.Linear(2 * width, width)
        self.attention = nn.ModuleList(CrossAttention(width) for _ in range(2))
        self.inner = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(2))
        self.outer = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(2))
        self.head = nn.Linear(width, words)

    def write(self, sounds: torch.Tensor, count: int, *, keeps: bool) -> list[torch.Tensor]:
        """Return the numbers of words, one after the other."""
        word = torch.zeros(len(sounds), 1, dtype=torch.long, device=sounds.device)
        state, found = torch.zeros_like(sounds[:, :1]), []
        if keeps:
            for each in self.attention.children():
                cast(CrossAttention, each).keep(sounds)
        for _ in range(count):
            state = torch.tanh(self.state(torch.cat([self.words(word), state], dim=2)))
            hidden = state
            for attention, inner, outer in zip(self.attention, self.inner, self.outer, strict=True):
                hidden = attention(hidden, sounds)
                hidden = hidden + outer(functional.relu(inner(hidden)))
            word = self.head(hidden).argmax(2)
            found.append(word)
        return found


def keys_for_each_word() -> Forms:
    """Compute the keys and values of what was heard for each word, or once.

    From FireRedASR#106, vllm#7397, optimum-executorch#187, mlxcel#621.
    """
    heard = torch.randn(8, 1, 300, 80).to(DEVICE)

    def form(keeps: bool) -> Step:
        encoder = nn.Sequential(
            nn.Linear(80, 256), nn.GELU(), nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512),
            nn.GELU(), nn.Linear(512, 128), nn.LayerNorm(128),
        ).to(DEVICE)  # fmt: skip
        writer, turns = Writer().to(DEVICE).eval(), itertools.cycle(heard)

        @torch.no_grad()
        def step() -> list[torch.Tensor]:
            return writer.write(encoder(next(turns)), 8, keeps=keeps)

        return step

    return Forms(form(False), form(True))


PAIRS: Final = (
    planted("product_of_edges", "a product of edges in place of nodes", product_of_edges,
            settings=DEVICE_SPEED),
    planted("neighbours_in_each_layer", "the same neighbours searched in each layer",
            neighbours_in_each_layer, settings=FASTER),
    planted("scores_of_the_prompt", "scores of all positions, where the last counts",
            scores_of_the_prompt, settings=FASTER),
    planted("keys_for_each_word", "keys of what was heard, for each word",
            keys_for_each_word, settings=FASTER),
)  # fmt: skip
