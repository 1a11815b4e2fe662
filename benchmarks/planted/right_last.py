"""Right programs that were written behind those of ``right_later``, and judged once."""

from __future__ import annotations

import copy
from typing import Any, Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import BARE, BY_EVENTS, FULL, SHAPES, STACKS, RightProgram
from benchmarks.planted.right_on_host import perceptron

HOST: Final = "cpu"
DEVICE: Final = "refdev"


def centers() -> Step:
    """Return rounds of k-means, each from the centers of the one before."""
    points, ones = torch.rand(6000, 32), torch.ones(6000)
    count = 64

    @torch.inference_mode()
    def step() -> torch.Tensor:
        middle = points[:count].clone()
        for _ in range(5):
            nearest = torch.cdist(points, middle).argmin(dim=1)
            total = torch.zeros(count, 32).index_add_(0, nearest, points)
            members = torch.zeros(count).index_add_(0, nearest, ones)
            middle = total / members.clamp_(min=1).unsqueeze(1)
        return middle

    return step


def bags_of_words() -> Step:
    """Return training on bags of words of any length, with sparse gradients."""
    words, head = nn.EmbeddingBag(60_000, 128, mode="mean", sparse=True), nn.Linear(128, 20)
    of_words = torch.optim.SGD(words.parameters(), lr=0.1)
    of_head = torch.optim.AdamW(head.parameters(), fused=True)
    lengths = torch.randint(5, 60, (5, 256))
    batches = [
        (torch.randint(60_000, (int(each.sum()),)), functional.pad(each.cumsum(0)[:-1], (1, 0)))
        for each in lengths
    ]
    labels, number = torch.randint(20, (256,)), 0

    def step() -> None:
        nonlocal number
        text, offsets = batches[number % len(batches)]
        number += 1
        of_words.zero_grad()
        of_head.zero_grad()
        functional.cross_entropy(head(words(text, offsets)), labels).backward()
        of_words.step()
        of_head.step()

    return step


class Coupled(nn.Module):
    """A step of a flow: one half of the numbers moves and scales the other one."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = perceptron(width // 2, 256, width)

    def forward(self, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the points with their halves in turn, and the logarithm of the volume."""
        fixed, moved = points.chunk(2, dim=1)
        scale, shift = self.net(fixed).chunk(2, dim=1)
        scale = torch.tanh(scale)
        return torch.cat((torch.addcmul(shift, moved, scale.exp()), fixed), 1), scale.sum(dim=1)


def flowing() -> Step:
    """Return training of a normalizing flow by the likelihood of its points."""
    layers = nn.ModuleList(Coupled(64) for _ in range(4))
    adam = torch.optim.AdamW(layers.parameters(), fused=True)
    points = torch.randn(256, 64)

    def step() -> None:
        adam.zero_grad()
        hidden, volume = points, torch.zeros(256)
        for layer in layers:
            hidden, more = layer(hidden)
            volume = volume + more
        (0.5 * hidden.square().sum(dim=1) - volume).mean().backward()
        adam.step()

    return step


def ranked_pages() -> Step:
    """Return the ranks of pages by their links, round by round."""
    pages, links = 20_000, 160_000
    places = torch.randint(pages, (2, links))
    matrix = torch.sparse_coo_tensor(places, torch.rand(links) / 8, (pages, pages))
    matrix = matrix.coalesce().to_sparse_csr()

    @torch.inference_mode()
    def step() -> torch.Tensor:
        ranks = torch.full((pages, 1), 1 / pages)
        for _ in range(8):
            ranks = (matrix @ ranks).mul_(0.85).add_(0.15 / pages)
        return ranks

    return step


def remembered_views() -> Step:
    """Return training of vectors by two views, against a queue of earlier ones."""
    model: Any = perceptron(384, 768, 768, 128).to(DEVICE)
    slow = copy.deepcopy(model).requires_grad_(False)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    queue = functional.normalize(torch.randn(1024, 128), dim=1).to(DEVICE)
    views = [torch.rand(128, 384).to(DEVICE) for _ in range(2)]
    first = torch.zeros(128, dtype=torch.int64, device=DEVICE)
    place = 0

    def step() -> None:
        nonlocal place
        query = functional.normalize(model(views[0]), dim=1)
        with torch.no_grad():
            torch._foreach_lerp_([*slow.parameters()], [*model.parameters()], 0.001)
            key = functional.normalize(slow(views[1]), dim=1)
        like = torch.linalg.vecdot(query, key).unsqueeze(1)
        scores = torch.cat((like, query @ queue.T), dim=1)
        sgd.zero_grad()
        functional.cross_entropy(scores / 0.1, first).backward()
        sgd.step()
        queue[place : place + 128] = key
        place = (place + 128) % 1024

    return step


def rays() -> Step:
    """Return training of a field of light, seen along rays."""
    rays_, samples = 48, 16
    model = perceptron(39, 512, 512, 4).to(DEVICE)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    waves = (2.0 ** torch.arange(6)).to(DEVICE)
    places, seen = torch.rand(rays_, samples, 3).to(DEVICE), torch.rand(rays_, 3).to(DEVICE)

    def step() -> None:
        angles = (places.unsqueeze(-1) * waves).flatten(2)
        encoded = torch.cat((places, angles.sin(), angles.cos()), dim=-1)
        found = model(encoded)
        color = found[..., :3].sigmoid()
        clear = torch.exp(-functional.softplus(found[..., 3]) / samples)
        behind = functional.pad(clear[:, :-1].cumprod(dim=1), (1, 0), value=1.0)
        light = ((behind * (1 - clear)).unsqueeze(-1) * color).sum(dim=1)
        adam.zero_grad()
        functional.mse_loss(light, seen).backward()
        adam.step()

    return step


def preferred() -> Step:
    """Return training of a judge by pairs of texts, one of them preferred."""
    words = nn.Embedding(512, 256).to(DEVICE)
    model = perceptron(256, 768, 768, 1).to(DEVICE)
    adam = torch.optim.AdamW([*words.parameters(), *model.parameters()], fused=True)
    texts = torch.randint(512, (2 * 96, 24)).to(DEVICE)

    def step() -> None:
        adam.zero_grad()
        better, worse = model(words(texts).mean(dim=1)).chunk(2)
        functional.softplus(worse - better).mean().backward()
        adam.step()

    return step


def searched_in_parts() -> Step:
    """Return the nearest of many documents, part by part, since all scores do not fit."""
    parts = [functional.normalize(torch.rand(4096, 128), dim=1).to(DEVICE) for _ in range(4)]
    queries = functional.normalize(torch.rand(96, 128), dim=1).to(DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        best, rows = torch.mm(queries, parts[0].T).topk(10, dim=1)
        for number, part in enumerate(parts[1:], start=1):
            scores, found = torch.mm(queries, part.T).topk(10, dim=1)
            both = torch.cat((best, scores), dim=1)
            places = torch.cat((rows, found + number * 4096), dim=1)
            best, chosen = both.topk(10, dim=1)
            rows = places.gather(1, chosen)
        return rows

    return step


PROGRAMS: tuple[RightProgram, ...] = (
    RightProgram(centers.__name__, "k-means", HOST, centers, FULL),
    RightProgram(bags_of_words.__name__, "bags of words", HOST, bags_of_words, FULL),
    RightProgram(flowing.__name__, "a normalizing flow", HOST, flowing, SHAPES),
    RightProgram(ranked_pages.__name__, "ranks of pages", HOST, ranked_pages, STACKS),
    RightProgram(remembered_views.__name__, "a queue of views", DEVICE, remembered_views, FULL),
    RightProgram(rays.__name__, "a field of light", DEVICE, rays, BY_EVENTS),
    RightProgram(preferred.__name__, "pairs of texts", DEVICE, preferred, BARE),
    RightProgram(
        searched_in_parts.__name__, "documents part by part", DEVICE, searched_in_parts, FULL
    ),
)
