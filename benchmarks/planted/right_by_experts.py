"""Right programs of many fields, as their experts write them: serving, graphs, sound, games."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import FULL, RightProgram
from benchmarks.planted.right_on_host import perceptron

HOST: Final = "cpu"
DEVICE: Final = "refdev"


class CachedBlock(nn.Module):
    """A block of a decoder whose keys and values stay in tensors of full length."""

    kept: torch.Tensor

    def __init__(self, width: int, heads: int, rows: int, longest: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        kept = torch.zeros(2, rows, heads, longest, width // heads)
        self.register_buffer("kept", kept, persistent=False)

    def forward(self, hidden: torch.Tensor, first: int) -> torch.Tensor:
        """Return words of [rows, words, width], written from a place on."""
        last = first + hidden.shape[1]
        parts = self.joint(self.before(hidden)).unflatten(-1, (3, self.heads, -1))
        query, *pair = parts.permute(2, 0, 3, 1, 4).unbind()
        for place, new in enumerate(pair):
            self.kept[place, :, :, first:last] = new
        key, value = self.kept[:, :, :, :last].unbind()
        alone = hidden.shape[1] == 1
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=not alone)
        hidden = hidden + self.out(mixed.transpose(1, 2).flatten(2))
        result: torch.Tensor = hidden + self.inner(self.between(hidden))
        return result


def served_with_cache() -> Step:
    """Return a request: a prompt read at once, then ten words, each behind the last word alone."""
    words = nn.Embedding(2000, 192)
    blocks = nn.ModuleList(CachedBlock(192, 6, 2, 64) for _ in range(3)).eval()
    norm, prompt = nn.LayerNorm(192), torch.randint(2000, (2, 40))

    def next_word(read: torch.Tensor, first: int) -> torch.Tensor:
        hidden = words(read)
        for block in blocks:
            hidden = block(hidden, first)
        return functional.linear(norm(hidden[:, -1]), words.weight).argmax(-1, keepdim=True)

    @torch.inference_mode()
    def step() -> list[list[int]]:
        written = [next_word(prompt, 0)]
        for place in range(40, 49):
            written.append(next_word(written[-1], place))
        answer: list[list[int]] = torch.cat(written, dim=1).tolist()
        return answer

    return step


def nearest_passages() -> Step:
    """Return the nearest of many vectors, in blocks with the best so far, as faiss searches."""
    passages = functional.normalize(torch.randn(24_000, 96), dim=1)
    blocks = passages.split(6000)
    questions = itertools.cycle(torch.randn(6, 64, 96))
    encoder = perceptron(96, 256, 96).eval()

    @torch.inference_mode()
    def step() -> np.ndarray:
        asked = functional.normalize(encoder(next(questions)), dim=1)
        found = [(asked @ block.T).topk(10, dim=1) for block in blocks]
        best = torch.cat([one.values for one in found], dim=1)
        places = torch.cat([one.indices + 6000 * i for i, one in enumerate(found)], dim=1)
        result: np.ndarray = places.gather(1, best.topk(10, dim=1).indices).numpy()
        return result

    return step


class SampledLayer(nn.Module):
    """GraphSAGE: the mean of the neighbors beside the node's own row."""

    def __init__(self, width: int, outer: int) -> None:
        super().__init__()
        self.own, self.near = nn.Linear(width, outer), nn.Linear(width, outer, bias=False)

    def forward(self, rows: torch.Tensor, edges: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        """Return new rows of all nodes; ``count`` is the number of neighbors of each."""
        summed = torch.zeros_like(rows).index_add_(0, edges[1], rows.index_select(0, edges[0]))
        result: torch.Tensor = self.own(rows) + self.near(summed / count)
        return result


def graph_of_papers() -> Step:
    """Return training of a graph network over the edges; the loss is of the labelled nodes."""
    edges, labelled = (
        torch.randint(1500, (2, 9000)).to(DEVICE),
        torch.randperm(1500)[:300].to(DEVICE),
    )
    count = torch.bincount(edges[1].cpu(), minlength=1500).clamp(min=1).unsqueeze(1).float()
    edges, count = edges.to(DEVICE), count.to(DEVICE)
    rows, labels = torch.randn(1500, 64).to(DEVICE), torch.randint(7, (300,)).to(DEVICE)
    layers = nn.ModuleList((SampledLayer(64, 128), SampledLayer(128, 64))).to(DEVICE)
    head = nn.Linear(64, 7).to(DEVICE)
    adam = torch.optim.AdamW([*layers.parameters(), *head.parameters()], lr=1e-2, fused=True)

    def step() -> None:
        hidden = rows
        for layer in layers:
            hidden = functional.dropout(functional.relu(layer(hidden, edges, count)), 0.3)
        loss = functional.cross_entropy(head(hidden[labelled]), labels)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def played_by_ppo() -> Step:
    """Return one update of PPO: advantages backwards in time for all worlds, then minibatches."""
    actor, critic = perceptron(24, 128, 128, 6), perceptron(24, 128, 128, 1)
    parameters = [*actor.parameters(), *critic.parameters()]
    adam = torch.optim.Adam(parameters, lr=3e-4, fused=True)
    seen, acted = torch.randn(33, 32, 24), torch.randint(6, (32, 32))
    paid, ended = torch.randn(32, 32).numpy(), (torch.rand(32, 32) < 0.05).numpy()

    def advantages() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            worth = critic(seen).squeeze(2)
            was = functional.log_softmax(actor(seen[:-1]), 2).gather(2, acted.unsqueeze(2))
        values, gained, last = worth.numpy(), np.empty((32, 32), np.float32), np.zeros(32)
        for time in reversed(range(32)):
            goes_on = 1 - ended[time]
            surprise = paid[time] + 0.99 * values[time + 1] * goes_on - values[time]
            last = surprise + 0.99 * 0.95 * goes_on * last
            gained[time] = last
        found = torch.from_numpy(gained)
        return was.squeeze(2), found, found + worth[:-1]

    def step() -> None:
        was, gained, goal = (one.flatten() for one in advantages())
        states, actions = seen[:-1].flatten(0, 1), acted.flatten()
        for part in torch.randperm(1024).split(256):
            scores = functional.log_softmax(actor(states[part]), 1)
            chance = scores.gather(1, actions[part].unsqueeze(1)).squeeze(1)
            ratio, gain = (chance - was[part]).exp(), gained[part]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            doubt = -(scores.exp() * scores).sum(1).mean()
            error = functional.mse_loss(critic(states[part]).squeeze(1), goal[part])
            adam.zero_grad()
            (0.5 * error - clipped - 0.01 * doubt).backward()
            nn.utils.clip_grad_norm_(parameters, 0.5, foreach=True)
            adam.step()

    return step


def spoken_commands() -> Step:
    """Return training on spoken words: spectra of the batch at once, masks, and convolutions."""
    window, filters = torch.hann_window(400), torch.rand(201, 64)
    sounds, labels = torch.randn(4, 12, 8000), torch.randint(35, (4, 12))
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.Conv2d(16, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 35),
    )  # fmt: skip
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    batches, places = itertools.cycle(zip(sounds, labels, strict=True)), torch.arange(64)

    def step() -> None:
        sound, wanted = next(batches)
        with torch.no_grad():
            spectrum = torch.stft(sound, 400, 160, window=window, return_complex=True)
            mel = (filters.T @ spectrum.abs().square()).add_(1e-6).log_()
            first = torch.randint(56, (len(mel), 1))
            hidden = (places >= first) & (places < first + 8)
            mel = mel.masked_fill_(hidden.unsqueeze(2), 0.0).unsqueeze(1)
        loss = functional.cross_entropy(model(mel), wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


class Columns(nn.Module):
    """A table's numbers and names: one lookup for all names by offsets, as DLRM has it."""

    first: torch.Tensor
    pairs: torch.Tensor

    def __init__(self, sizes: list[int], numbers: int) -> None:
        super().__init__()
        self.register_buffer("first", torch.tensor([0, *itertools.accumulate(sizes[:-1])]))
        self.names = nn.Embedding(sum(sizes), 16)
        self.numbers = perceptron(numbers, 64, 16)
        self.head = perceptron(16 + (len(sizes) + 1) * len(sizes) // 2, 128, 1)
        pairs = torch.tril_indices(len(sizes) + 1, len(sizes) + 1, -1)
        self.register_buffer("pairs", pairs[0] * (len(sizes) + 1) + pairs[1])

    def forward(self, numbers: torch.Tensor, names: torch.Tensor) -> torch.Tensor:
        """Return a score for each row."""
        dense = self.numbers(numbers)
        rows = torch.cat((dense.unsqueeze(1), self.names(names + self.first)), dim=1)
        alike = torch.bmm(rows, rows.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        score: torch.Tensor = self.head(torch.cat((dense, alike), dim=1)).squeeze(1)
        return score


def rows_of_a_table() -> Step:
    """Return training on a table of numbers and names, with crossed columns."""
    sizes = [100, 50, 1000, 20, 300, 8, 12, 400]
    model = Columns(sizes, 13)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    names = torch.stack([torch.randint(size, (4, 1024)) for size in sizes], dim=2)
    numbers, clicked = torch.randn(4, 1024, 13), (torch.rand(4, 1024) < 0.2).float()
    turns = itertools.cycle(range(4))

    def step() -> None:
        turn = next(turns)
        scores = model(numbers[turn], names[turn])
        loss = functional.binary_cross_entropy_with_logits(scores, clicked[turn])
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def words_proposed() -> Step:
    """Return speculative decoding: four words of a small model, judged by a large one at once."""
    draft = nn.Sequential(nn.Embedding(1024, 128), nn.Linear(128, 1024)).to(DEVICE).eval()
    words = nn.Embedding(1024, 384).to(DEVICE)
    blocks = nn.ModuleList(CachedBlock(384, 6, 1, 96) for _ in range(2)).to(DEVICE).eval()
    norm = nn.LayerNorm(384).to(DEVICE)

    @torch.inference_mode()
    def step() -> list[int]:
        word, proposed = torch.zeros(1, 1, dtype=torch.long, device=DEVICE), []
        for _ in range(4):
            word = draft(word).argmax(-1)
            proposed.append(word)
        guessed = torch.cat(proposed, dim=1)
        hidden = words(guessed)
        for block in blocks:
            hidden = block(hidden, 0)
        wanted = functional.linear(norm(hidden), words.weight).argmax(-1)
        agrees = (wanted[:, :-1] == guessed[:, 1:]).cumprod(dim=1).sum(1)
        answer: list[int] = torch.cat((wanted[0], agrees)).tolist()
        return answer

    return step


class Adapted(nn.Module):
    """A frozen layer with a trained addition of low rank."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) * 0.02)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the layer's rows with the addition."""
        added = functional.linear(functional.linear(rows, self.down), self.up)
        result: torch.Tensor = self.layer(rows) + added
        return result


def adapters_tuned() -> Step:
    """Return training of additions of low rank to a frozen network; its head is trained."""
    layers = [Adapted(nn.Linear(512, 512), 8) for _ in range(3)]
    body = nn.Sequential(*itertools.chain(*((layer, nn.GELU()) for layer in layers)))
    model = nn.Sequential(body, nn.Linear(512, 32)).to(DEVICE)
    trained = [one for one in model.parameters() if one.requires_grad]
    adam = torch.optim.AdamW(trained, fused=True)
    rows, labels = torch.randn(192, 512).to(DEVICE), torch.randint(32, (192,)).to(DEVICE)

    def step() -> None:
        loss = functional.cross_entropy(model(rows), labels)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


class Segmenter(nn.Module):
    """A small U-Net."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.down = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, 2, 1)
        self.middle = nn.Conv2d(32, 32, 3, padding=1)
        self.up = nn.ConvTranspose2d(32, 16, 2, 2)
        self.last, self.head = nn.Conv2d(32, 16, 3, padding=1), nn.Conv2d(16, 5, 1)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return scores of classes for each pixel."""
        fine = functional.relu(self.first(pictures))
        coarse = functional.relu(self.middle(functional.relu(self.down(fine))))
        joined = torch.cat((self.up(coarse), fine), dim=1)
        scores: torch.Tensor = self.head(functional.relu(self.last(joined)))
        return scores


def pixels_by_class() -> Step:
    """Return training of segmentation by cross entropy and the overlap of classes."""
    model = Segmenter()
    sgd = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, fused=True)
    pictures = torch.rand(4, 3, 48, 48)
    labels = torch.randint(5, (4, 48, 48))
    goal = functional.one_hot(labels, 5).permute(0, 3, 1, 2).float().contiguous()

    def step() -> None:
        scores = model(pictures)
        shares = scores.softmax(1)
        both, all_of = (shares * goal).sum((0, 2, 3)), (shares + goal).sum((0, 2, 3))
        overlap = (2 * both + 1) / (all_of + 1)
        loss = functional.cross_entropy(scores, labels) + (1 - overlap.mean())
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    return step


class Choosing(nn.Module):
    """A mixture of eight experts, each of which chooses the tokens that it works on."""

    def __init__(self, width: int, room: int) -> None:
        super().__init__()
        self.room, self.gate = room, nn.Linear(width, 8, bias=False)
        self.first = nn.Parameter(torch.randn(8, width, 2 * width) * 0.05)
        self.second = nn.Parameter(torch.randn(8, 2 * width, width) * 0.05)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return tokens, each with what its experts make of it."""
        chance, chosen = self.gate(tokens).softmax(1).T.topk(self.room, dim=1)
        token = chosen.flatten()
        sent = tokens.index_select(0, token).unflatten(0, chosen.shape)
        made = torch.bmm(functional.silu(torch.bmm(sent, self.first)), self.second)
        weighted = (made * chance.unsqueeze(2)).flatten(0, 1)
        return tokens.index_add(0, token, weighted)


def choosing_experts() -> Step:
    """Return scores of a mixture of experts over a batch of tokens."""
    model = nn.Sequential(Choosing(256, 64), nn.LayerNorm(256), Choosing(256, 64))
    model = nn.Sequential(model, nn.Linear(256, 64)).to(DEVICE).eval()
    tokens = torch.randn(256, 256).to(DEVICE)

    @torch.inference_mode()
    def step() -> list[int]:
        chosen: list[int] = model(tokens).argmax(1).tolist()
        return chosen

    return step


PROGRAMS: Final = (
    *(
        RightProgram(build.__name__, what, HOST, build, FULL)
        for build, what in (
            (served_with_cache, "a prompt, then words by caches"),
            (nearest_passages, "the nearest of many vectors"),
            (played_by_ppo, "an update of PPO"),
            (spoken_commands, "spoken words by spectra"),
            (rows_of_a_table, "a table of numbers and names"),
            (pixels_by_class, "segmentation by overlap"),
        )
    ),
    *(
        RightProgram(build.__name__, what, DEVICE, build, FULL)
        for build, what in (
            (graph_of_papers, "a graph network of edges"),
            (words_proposed, "speculative decoding"),
            (adapters_tuned, "additions of low rank"),
            (choosing_experts, "a mixture of experts"),
        )
    ),
)
