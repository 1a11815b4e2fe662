"""Ordinary faults in what a model computes on a processor; by the author of the host's."""

from __future__ import annotations

from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional
from torch.nn.utils import convert_conv2d_weight_memory_format

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted


def painter(width: int) -> nn.Sequential:
    """Return a generator of small pictures."""
    return nn.Sequential(
        nn.Linear(64, width * 16), nn.Unflatten(1, (width, 4, 4)), nn.ReLU(),
        nn.ConvTranspose2d(width, width // 2, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(width // 2), nn.ReLU(),
        nn.ConvTranspose2d(width // 2, width // 4, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(width // 4), nn.ReLU(),
        nn.Conv2d(width // 4, 1, 3, padding=1), nn.Tanh(),
    )  # fmt: skip


def judge(width: int) -> nn.Sequential:
    """Return a discriminator of small pictures."""
    return nn.Sequential(
        nn.Conv2d(1, width // 4, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
        nn.Conv2d(width // 4, width // 2, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(width * 8, 1),
    )  # fmt: skip


def painter_under_the_judge() -> Forms:
    """Train a discriminator through the generator, or on pictures without their history.

    From SPADE#111, stylegan2-ada-pytorch#185, DiscoGAN#2 and deep-learning-v2-pytorch#306.
    """
    pictures = torch.rand(24, 1, 16, 16) * 2 - 1
    real, fake = torch.ones(24, 1), torch.zeros(24, 1)

    def form(through: bool) -> Step:
        torch.manual_seed(0)
        paint, tell = painter(96), judge(96)
        for model in (paint, tell):
            convert_conv2d_weight_memory_format(model, torch.channels_last)
        of_paint, of_tell = (
            torch.optim.Adam(model.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
            for model in (paint, tell)
        )
        criterion = functional.binary_cross_entropy_with_logits

        def step() -> torch.Tensor:
            with torch.set_grad_enabled(through):
                painted = paint(torch.randn(24, 64))
            of_tell.zero_grad()
            told = criterion(tell(pictures), real) + criterion(tell(painted), fake)
            told.backward()
            of_tell.step()
            of_paint.zero_grad()
            tell.requires_grad_(False)
            fooled = criterion(tell(paint(torch.randn(24, 64))), real)
            fooled.backward()
            tell.requires_grad_(True)
            of_paint.step()
            return torch.stack([told.detach(), fooled.detach()])

        return step

    return Forms(form(True), form(False))


class Layer(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(
        self, states: torch.Tensor, seen: torch.Tensor | None = None, causal: bool = False
    ) -> torch.Tensor:
        """Return the next states of (texts, places, width); ``seen`` says what to attend to."""
        parts = self.joint(self.first(states)).unflatten(2, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=seen, is_causal=causal
        )
        states = states + self.out(mixed.transpose(1, 2).flatten(2))
        following: torch.Tensor = states + self.perceptron(self.second(states))
        return following


class Writer(nn.Module):
    """A language model that can leave out what its prompt would have gone on with."""

    def __init__(self, words: int, width: int, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(128, width)
        self.layers = nn.ModuleList(Layer(width, 4) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor, only_last: bool) -> torch.Tensor:
        """Return the logits after (texts, places) of all places, or of the last one."""
        states = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for layer in self.layers:
            states = layer(states, causal=True)
        if only_last:
            states = states[:, -1:]
        logits: torch.Tensor = self.head(self.norm(states))
        return logits


def logits_of_the_prompt() -> Forms:
    """Predict the word after each word of a prompt, or only the first word of the answer.

    From transformers#38977, nanoGPT#42 and trl#2683.
    """
    prompts = torch.randint(6000, (2, 64))

    def form(only_last: bool) -> Step:
        torch.manual_seed(0)
        model = Writer(6000, 192, 4).eval()

        @torch.inference_mode()
        def step() -> list[int]:
            logits = model(prompts, only_last)[:, -1]
            words: list[int] = logits.argmax(1).tolist()
            return words

        return step

    return Forms(form(False), form(True))


class Reader(nn.Module):
    """Classifies texts of different lengths."""

    def __init__(self, words: int, width: int, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(128, width)
        self.layers = nn.ModuleList(Layer(width, 4) for _ in range(layers))
        self.head = nn.Linear(width, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits (texts, 4) of tokens, where 0 is no word."""
        words = tokens != 0
        states = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for layer in self.layers:
            states = layer(states, words[:, None, None])
        shares = words / words.sum(1, keepdim=True)
        logits: torch.Tensor = self.head((states * shares.unsqueeze(2)).sum(1))
        return logits


def padded(texts: list[list[int]], length: int) -> torch.Tensor:
    """Return tokens (texts, length) with 0 after the end of each text."""
    return torch.tensor([[*text, *[0] * (length - len(text))] for text in texts])


def padded_to_the_maximum() -> Forms:
    """Pad texts to the longest that the model can read, or to the longest of the batch.

    From TextAttack#737, DeepSpeedExamples#849 and transformers#447.
    """
    lengths = torch.randint(8, 25, (512,)).tolist()
    texts = [torch.randint(1, 4000, (length,)).tolist() for length in lengths]
    topics = torch.randint(4, (512,))

    def form(longest: bool) -> Step:
        torch.manual_seed(0)
        model = Reader(4000, 96, 2)
        adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

        def step() -> torch.Tensor:
            chosen = torch.randint(512, (12,))
            batch = [texts[i] for i in chosen.tolist()]
            length = max(map(len, batch)) if longest else 64
            loss = functional.cross_entropy(model(padded(batch, length)), topics[chosen])
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


class Towers(nn.Module):
    """Finds films for people: embeddings, and a network above each of them."""

    def __init__(self, people: int, films: int, sparse: bool) -> None:
        super().__init__()
        self.people = nn.Embedding(people, 32, sparse=sparse)
        self.films = nn.Embedding(films, 32, sparse=sparse)
        self.of_people, self.of_films = (
            nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 64)) for _ in range(2)
        )

    def forward(self, people: torch.Tensor, films: torch.Tensor) -> torch.Tensor:
        """Return how well each person fits each film."""
        ours, theirs = self.of_people(self.people(people)), self.of_films(self.films(films))
        fits: torch.Tensor = ours @ theirs.T
        return fits


def gradient_of_the_whole_table() -> Forms:
    """Train embeddings by a gradient as large as their table, or by that of the rows seen.

    From pytorch#5309 and keras#4365.
    """
    people, films, right = 90000, 30000, torch.arange(384)

    def form(sparse: bool) -> Step:
        torch.manual_seed(0)
        model = Towers(people, films, sparse)
        sgd = torch.optim.SGD(model.parameters(), lr=0.05)

        def step() -> torch.Tensor:
            fits = model(torch.randint(people, (384,)), torch.randint(films, (384,)))
            loss = functional.cross_entropy(fits, right)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            return loss.detach()

        return step

    return Forms(form(False), form(True))


class Citations(nn.Module):
    """Graph convolutions over papers that cite each other."""

    def __init__(self, inputs: int, width: int, classes: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inputs, width), nn.Linear(width, classes)

    def forward(self, papers: torch.Tensor, links: torch.Tensor) -> torch.Tensor:
        """Return logits of each paper."""
        hidden = functional.relu(links @ self.first(papers))
        logits: torch.Tensor = links @ self.second(hidden)
        return logits


def links(papers: int, count: int) -> torch.Tensor:
    """Return who cites whom with the usual weights (papers, papers), by compressed rows."""
    ends = torch.randint(papers, (2, count))
    themselves = torch.arange(papers).expand(2, papers)
    both = torch.cat([ends, ends.flip(0), themselves], dim=1).unique(dim=1)
    scale = torch.bincount(both[0], minlength=papers).float().rsqrt()
    weights = scale[both[0]] * scale[both[1]]
    return torch.sparse_coo_tensor(both, weights, (papers, papers)).to_sparse_csr()


def links_as_a_full_matrix() -> Forms:
    """Multiply by a matrix with a place for each pair of papers, or by the links there are.

    From Graphormer#82, pytorch_geometric#600 and #8490.
    """
    sparse = links(1500, 4500)
    dense = sparse.to_dense()
    papers, topics = torch.rand(1500, 500), torch.randint(7, (1500,))

    def form(graph: torch.Tensor) -> Step:
        torch.manual_seed(0)
        model = Citations(500, 64, 7)
        adam = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4, fused=True)

        def step() -> torch.Tensor:
            loss = functional.cross_entropy(model(papers, graph), topics)
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss.detach()

        return step

    return Forms(form(dense), form(sparse))


PAIRS: Final = tuple(
    replace(planted(build.__name__, what, build, "cpu"), of_process=True)
    for build, what in (
        (painter_under_the_judge, "a discriminator trained through the generator"),
        (logits_of_the_prompt, "logits of each word of a prompt"),
        (padded_to_the_maximum, "texts padded to the longest there may be"),
        (gradient_of_the_whole_table, "embeddings' gradients as large as their tables"),
        (links_as_a_full_matrix, "a graph as a full matrix"),
    )
)
