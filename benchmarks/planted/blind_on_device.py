"""Faults in the device's work, planted by an author who has not read the rules."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.planted.fault import FASTER, planted
from benchmarks.planted.programs import training
from benchmarks.planted.tuned_on_device import DEVICE, Attention, DecodingLayer, dense_network


def attached_fake() -> Forms:
    """Send the judge's gradients into the maker as well, or detach what the maker made."""
    batch, noise, size = 96, 64, 384
    maker, judge = dense_network(noise, 512, 512, size), dense_network(size, 256, 1)
    optimizers = [torch.optim.Adam(net.parameters(), lr=2e-4, fused=True) for net in (maker, judge)]
    real = torch.rand(batch, size).to(DEVICE)
    ones, zeros = torch.ones(batch, 1, device=DEVICE), torch.zeros(batch, 1, device=DEVICE)
    loss = functional.binary_cross_entropy_with_logits

    def form(detaches: bool) -> Step:
        def step() -> None:
            fake = maker(torch.randn(batch, noise, device=DEVICE))
            shown = fake.detach() if detaches else fake
            optimizers[1].zero_grad()
            (loss(judge(real), ones) + loss(judge(shown), zeros)).backward()
            optimizers[1].step()
            optimizers[0].zero_grad()
            loss(judge(maker(torch.randn(batch, noise, device=DEVICE))), ones).backward()
            optimizers[0].step()

        return step

    return Forms(form(False), form(True))


class Messages(nn.Module):
    """A layer of a graph network: each node gets the sum of its neighbors."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, nodes: torch.Tensor, gather: Callable[..., torch.Tensor]) -> torch.Tensor:
        """Return the states of all nodes."""
        return functional.relu(self.mix(gather(nodes)) + nodes)


def dense_adjacency() -> Forms:
    """Add up neighbors by a product with a matrix of zeros and ones, or by the list of edges."""
    nodes, edges, width = 1200, 2400, 64
    sources, targets = (torch.randint(nodes, (edges,)) for _ in range(2))
    matrix = torch.zeros(nodes, nodes)
    matrix.index_put_((targets, sources), torch.ones(edges), accumulate=True)
    matrix = matrix.to(DEVICE)
    sources, targets = sources.to(DEVICE), targets.to(DEVICE)
    first, goal = torch.rand(nodes, width).to(DEVICE), torch.rand(nodes, width).to(DEVICE)

    def by_matrix(states: torch.Tensor) -> torch.Tensor:
        return matrix @ states

    def by_edges(states: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(states).index_add(0, targets, states.index_select(0, sources))

    def form(gather: Callable[[torch.Tensor], torch.Tensor]) -> Step:
        layers = nn.ModuleList(Messages(width) for _ in range(2)).to(DEVICE)
        adam = torch.optim.Adam(layers.parameters(), fused=True)

        def step() -> None:
            adam.zero_grad()
            states = first
            for layer in layers:
                states = layer(states, gather)
            functional.mse_loss(states, goal).backward()
            adam.step()

        return step

    return Forms(form(by_matrix), form(by_edges))


def every_score() -> Forms:
    """Score the words behind each token of a prompt, or behind the last one only."""
    words, width, sequences, tokens = 4096, 128, 4, 96
    embedding = nn.Embedding(words, width).to(DEVICE)
    layers = nn.Sequential(*(Attention(width, 4) for _ in range(2))).to(DEVICE)
    scores = nn.Linear(width, words).to(DEVICE)
    prompt = torch.randint(words, (sequences, tokens)).to(DEVICE)

    def form(all_tokens: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            hidden = layers(embedding(prompt))
            last = scores(hidden)[:, -1] if all_tokens else scores(hidden[:, -1])
            return torch.argmax(last, dim=-1)

        return step

    return Forms(form(True), form(False))


class Sentiment(nn.Module):
    """A class for each text, from the mean of its tokens."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.Sequential(*(Attention(width, 4) for _ in range(2)))
        self.classes = nn.Linear(width, 8)

    def forward(self, inputs: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the scores of texts, whose tokens are given with their weights."""
        text, weights = inputs
        hidden = self.layers(self.words(text))
        scores: torch.Tensor = self.classes(torch.bmm(weights, hidden).squeeze(1))
        return scores


def padded_texts() -> Forms:
    """Pad texts to the longest that the model takes, or to the longest of the batch."""
    words, texts, longest, allowed = 1000, 8, 40, 128
    lengths = torch.randint(16, longest + 1, (texts,))

    def form(length: int) -> Step:
        places = torch.arange(length)
        valid = (places < lengths[:, None]).float()
        text = (torch.randint(1, words, (texts, length)) * valid.long()).to(DEVICE)
        weights = (valid / lengths[:, None]).unsqueeze(1).to(DEVICE)
        labels = torch.randint(8, (texts,)).to(DEVICE)
        model = Sentiment(words, 128).to(DEVICE)
        adam = torch.optim.AdamW(model.parameters(), fused=True)
        return training(model, DEVICE, batch=lambda: ((text, weights), labels), optimizer=adam)

    return Forms(form(allowed), form(longest))


def broadcast_distances() -> Forms:
    """Compare all pairs of a batch by their differences, or by one product."""
    count, width = 96, 64
    inputs = torch.rand(count, 256).to(DEVICE)
    labels = torch.randint(12, (count,)).to(DEVICE)
    same = (labels[:, None] == labels[None]).float()

    def by_differences(states: torch.Tensor) -> torch.Tensor:
        return (states[:, None] - states[None]).pow(2).sum(-1)

    def by_product(states: torch.Tensor) -> torch.Tensor:
        squares = states.square().sum(-1)
        return torch.addmm(squares[:, None] + squares, states, states.T, alpha=-2)

    def form(distances: Callable[[torch.Tensor], torch.Tensor]) -> Step:
        def contrast(states: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
            return functional.binary_cross_entropy_with_logits(1 - distances(states), same)

        model = dense_network(256, 384, 384, width)
        return training(model, DEVICE, batch=lambda: (inputs, same), loss=contrast)

    return Forms(form(by_differences), form(by_product))


class Adapted(nn.Module):
    """A product with a low-rank change of its weights."""

    def __init__(self, width: int, rank: int, is_merged: bool) -> None:
        super().__init__()
        self.base = nn.Linear(width, width)
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width, bias=False)
        self.is_merged = is_merged
        if is_merged:
            self.base.weight.data += 2.0 * self.up.weight.data @ self.down.weight.data

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the product."""
        whole: torch.Tensor = self.base(hidden)
        return whole if self.is_merged else whole + 2.0 * self.up(self.down(hidden))


def separate_adapters() -> Forms:
    """Apply the adapters of a tuned model beside its weights, or merge them once."""

    def form(is_merged: bool) -> Step:
        layers = [
            part for _ in range(12) for part in (Adapted(384, 16, is_merged), nn.GELU())
        ]  # fmt: skip
        model, inputs = nn.Sequential(*layers).to(DEVICE), torch.rand(48, 384).to(DEVICE)

        @torch.no_grad()
        def step() -> torch.Tensor:
            hidden: torch.Tensor = model(inputs)
            return hidden

        return step

    return Forms(form(False), form(True))


def reordered_cache() -> Forms:
    """After each word of a beam search, sort the whole cache by beams, or its filled part."""
    words, width, beams, longest, filled = 1024, 128, 16, 128, 24
    embedding, scores = nn.Embedding(words, width).to(DEVICE), nn.Linear(width, words).to(DEVICE)
    layers = [DecodingLayer(width, 4, beams, longest).to(DEVICE, torch.bfloat16) for _ in range(2)]
    embedding, scores = embedding.to(torch.bfloat16), scores.to(torch.bfloat16)
    first = torch.ones(beams, dtype=torch.int64, device=DEVICE)
    totals = torch.zeros(beams, 1, device=DEVICE)

    def form(whole: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            chosen, best = first, totals
            for place in range(filled, filled + 3):
                hidden = embedding(chosen)
                for layer in layers:
                    hidden = layer.decode(hidden, place)
                likely = best + functional.log_softmax(scores(hidden).float(), dim=-1)
                top, places = likely.view(beams // 4, -1).topk(4)
                best, chosen = top.view(-1, 1), places.flatten() % words
                parents = places.flatten() // words
                for layer in layers:
                    part = layer.cache if whole else layer.cache[:, :, :, : place + 1]
                    part.copy_(part.index_select(1, parents))
            return best

        return step

    return Forms(form(True), form(False))


class Masked(Attention):
    """A layer that attends to the valid tokens before each."""

    def attend_to(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the hidden states of all tokens."""
        count, tokens, width = hidden.shape
        parts = self.parts(self.before(hidden)).view(count, tokens, 3, self.heads, -1)
        query, keys, values = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, keys, values, attn_mask=mask
        )
        hidden = hidden + self.mix(mixed.transpose(1, 2).reshape(count, tokens, width))
        return hidden + self.outer(functional.gelu(self.inner(self.between(hidden))))


def mask_in_each_layer() -> Forms:
    """Make the mask of attention in each layer, or once for all."""
    texts, tokens, width = 4, 160, 96
    layers = [Masked(width, 4).to(DEVICE) for _ in range(4)]
    hidden = torch.rand(texts, tokens, width).to(DEVICE)
    lengths = torch.randint(80, tokens, (texts,)).to(DEVICE)
    places = torch.arange(tokens, device=DEVICE)

    def mask() -> torch.Tensor:
        before = places[None] <= places[:, None]
        valid = (places < lengths[:, None])[:, None, None, :]
        allowed = (before & valid).expand(texts, 4, tokens, tokens)
        return torch.zeros(allowed.shape, device=DEVICE).masked_fill(~allowed, -1e9)

    def form(in_each: bool) -> Step:
        @torch.no_grad()
        def step() -> torch.Tensor:
            state, shared = hidden, None if in_each else mask()
            for layer in layers:
                state = layer.attend_to(state, mask() if shared is None else shared)
            return state

        return step

    return Forms(form(True), form(False))


def metric_of_all() -> Forms:
    """Correlate all answers of the last batches after each batch, or only keep them for later."""
    inputs, goals = torch.rand(128, 256).to(DEVICE), torch.rand(128, 64).to(DEVICE)
    answers: collections.deque[torch.Tensor] = collections.deque(maxlen=32)
    truths: collections.deque[torch.Tensor] = collections.deque(maxlen=32)

    def form(correlates: bool) -> Step:
        model = dense_network(256, 256, 64)
        adam = torch.optim.Adam(model.parameters(), fused=True)

        def step() -> torch.Tensor | None:
            adam.zero_grad()
            scores = model(inputs)
            functional.mse_loss(scores, goals).backward()
            adam.step()
            answers.append(scores.detach())
            truths.append(goals)
            if not correlates:
                return None
            return correlation(torch.cat(list(answers)), torch.cat(list(truths)))

        return step

    return Forms(form(True), form(False))


def correlation(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return the correlation of each column with that of the other."""
    left, right = left - left.mean(0), right - right.mean(0)
    return (left * right).sum(0) / (left.norm(dim=0) * right.norm(dim=0))


def without_cache() -> Forms:
    """Compute keys and values of all earlier words again for each word, or keep them."""
    words, width, sequences, filled, narrow = 1024, 128, 8, 32, torch.bfloat16
    embedding = nn.Embedding(words, width).to(DEVICE, narrow)
    scores = nn.Linear(width, words).to(DEVICE, narrow)
    layers = [DecodingLayer(width, 4, sequences, 64).to(DEVICE, narrow) for _ in range(2)]
    prompt = torch.randint(words, (sequences, filled)).to(DEVICE)

    @torch.no_grad()
    def again() -> torch.Tensor:
        said = prompt
        for _ in range(3):
            hidden = embedding(said)
            for layer in layers:
                hidden = layer(hidden)
            said = torch.cat([said, scores(hidden[:, -1]).argmax(-1, keepdim=True)], dim=1)
        return said

    @torch.no_grad()
    def with_cache() -> torch.Tensor:
        chosen = prompt[:, -1]
        for place in range(filled, filled + 3):
            hidden = embedding(chosen)
            for layer in layers:
                hidden = layer.decode(hidden, place)
            chosen = scores(hidden).argmax(-1)
        return chosen

    return Forms(again, with_cache)


def repeated_prompt() -> Forms:
    """Encode the same prompt before each step of a sampling, or once before all."""
    prompt = torch.randint(1000, (2, 64)).to(DEVICE)
    encoder = nn.Sequential(nn.Embedding(1000, 128), Attention(128, 4)).to(DEVICE)
    denoiser = dense_network(384 + 128, 1024, 1024, 384)
    noise = torch.rand(32, 2, 384).to(DEVICE)

    def form(repeats: bool) -> Step:
        def encoded() -> torch.Tensor:
            return torch.mean(encoder(prompt), dim=1).expand(32, 2, 128)

        @torch.no_grad()
        def step() -> torch.Tensor:
            pixels, meaning = noise, encoded()
            for number in range(4):
                if repeats and number:
                    meaning = encoded()
                pixels = torch.lerp(pixels, denoiser(torch.cat([pixels, meaning], dim=-1)), 0.2)
            return pixels

        return step

    return Forms(form(True), form(False))


def inferred(pair: Pair) -> Pair:
    """Return the pair, recorded by the events of operators instead of kernels."""
    return replace(pair, route="inferred")


PAIRS: Final = (
    planted("attached_fake", "a judge's gradients in the maker", attached_fake, DEVICE, FASTER),
    planted("dense_adjacency", "neighbors by a dense matrix", dense_adjacency),
    planted("every_score", "scores behind each token of a prompt", every_score),
    inferred(planted("padded_texts", "texts padded to the limit", padded_texts, DEVICE, FASTER)),
    planted("broadcast_distances", "pairs by their differences", broadcast_distances),
    inferred(planted("separate_adapters", "adapters beside the weights", separate_adapters)),
    planted("reordered_cache", "a whole cache sorted by beams", reordered_cache),
    planted("mask_in_each_layer", "a mask made in each layer", mask_in_each_layer, DEVICE, FASTER),
    planted("without_cache", "all words computed again for each", without_cache),
    planted("repeated_prompt", "one prompt encoded again and again", repeated_prompt),
    planted("metric_of_all", "a metric of all batches after each", metric_of_all),
)
