"""Right programs against rules on chosen rows, pairs, counts, spectra, dropouts and loops."""

from __future__ import annotations

import itertools
from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import FULL, SHAPES, RightProgram
from benchmarks.planted.right_on_host import perceptron

HOST: Final = "cpu"
DEVICE: Final = "refdev"


def supervised_towers() -> Step:
    """Return training of two towers: a mask chooses by row, and both have a head of their own."""
    towers = nn.ModuleList(perceptron(128, 512, 256) for _ in range(2))
    heads = nn.ModuleList(nn.Linear(256, 8) for _ in range(3))
    inputs, labels = torch.rand(1024, 128), torch.randint(8, (1024,))
    treated = torch.rand(1024, 1) > 0.5
    adam = torch.optim.Adam([*towers.parameters(), *heads.parameters()], fused=True)

    def step() -> None:
        adam.zero_grad()
        one, other = towers[0](inputs), towers[1](inputs)
        chosen = torch.where(treated, one, other)
        loss = functional.cross_entropy(heads[0](chosen), labels)
        for head, hidden in ((heads[1], one), (heads[2], other)):
            loss = loss + 0.1 * functional.cross_entropy(head(hidden), labels)
        loss.backward()
        adam.step()

    return step


def edges_of_points() -> Step:
    """Return messages between points, by the differences of their features and their lengths."""
    features = torch.rand(160, 32)
    layer = nn.Linear(32, 32)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        apart = features[:, None] - features[None]
        near = torch.exp(-apart.square().sum(-1, keepdim=True))
        return (layer(apart).relu_() * near).amax(1)

    return step


def weighted_by_counts() -> Step:
    """Return training on several labels at once, weighted by their counts in the batch."""
    model = perceptron(64, 128, 512)
    inputs, labels = torch.rand(2048, 64), torch.randint(512, (2048,))
    adam = torch.optim.Adam(model.parameters(), fused=True)

    def step() -> None:
        adam.zero_grad()
        goals = functional.one_hot(labels, 512)
        weights = 1.0 / (1.0 + goals.sum(0))
        scores = model(inputs)
        loss = functional.binary_cross_entropy_with_logits(scores, goals.to(scores.dtype), weights)
        loss.backward()
        adam.step()

    return step


def penalized_spectrum() -> Step:
    """Return training of a layer by its greatest singular value; a penalty holds all of them up."""
    weight = nn.Parameter(torch.rand(192, 192) / 192)
    head = perceptron(192, 192, 192, 8)
    inputs, labels = torch.rand(256, 192), torch.randint(8, (256,))
    adam = torch.optim.Adam([weight, *head.parameters()], fused=True)

    def step() -> None:
        adam.zero_grad()
        sizes = torch.linalg.svdvals(weight)
        hidden = functional.gelu(inputs @ (weight / sizes[0]).T)
        hidden = functional.layer_norm(hidden, (192,))
        scores = head(hidden) * 0.5 + head(hidden.tanh()) * 0.5
        loss = functional.cross_entropy(scores, labels)
        (loss - 0.01 * sizes.clamp(min=1e-6).log().mean()).backward()
        adam.step()

    return step


def resampled_particles() -> Step:
    """Return particles drawn again by their weights, at equal distances of the running sum."""
    places = torch.rand(256, 4096)
    scores = torch.rand(256, 4096)
    order = torch.arange(4096)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        running = scores.cumsum(-1)
        total = running[:, -1:]
        points = (order + torch.rand(256, 1)) * (total / 4096)
        chosen = torch.searchsorted(running, points).clamp_(max=4095)
        return places.gather(1, chosen)

    return step


def drawn_by_seed() -> Step:
    """Return one draw of a model whose dropout is its doubt, each step with the next seed."""
    model = nn.Sequential(
        nn.Linear(64, 512), nn.ReLU(), nn.Dropout(0.2), nn.Linear(512, 512), nn.ReLU(),
        nn.Dropout(0.2), nn.Linear(512, 4),
    ).train()  # fmt: skip
    inputs, seeds = torch.rand(512, 64), itertools.count()
    mean, spread = torch.zeros(512, 4), torch.zeros(512, 4)

    @torch.inference_mode()
    def step() -> None:
        seed = next(seeds)
        torch.manual_seed(seed)
        apart = model(inputs) - mean
        mean.add_(apart, alpha=1 / (seed + 1))
        spread.addcmul_(apart, apart)

    return step


def fitted_neuron() -> Step:
    """Return a fit of a neuron's two constants: its state follows from the one before, bent."""
    rates = nn.Parameter(torch.tensor([0.5, 0.1]))
    heard = torch.rand(96)
    adam = torch.optim.Adam([rates], lr=1e-3)

    def step() -> None:
        adam.zero_grad()
        decay, gain = rates.unbind()
        state, errors = torch.zeros(()), []
        for sound in heard.unbind():
            state = torch.tanh(decay * state + gain * sound * (1 - state))
            errors.append(state - sound)
        torch.stack(errors).square().mean().backward()
        adam.step()

    return step


def one_by_one_in_turn() -> Step:
    """Return rounds of coordinate descent: each coordinate reads all that were changed before."""
    table = torch.rand(128, 128) + 128 * torch.eye(128)
    goal, found = torch.rand(128), torch.zeros(128)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        for i in range(128):
            rest = goal[i] - torch.dot(table[i], found) + table[i, i] * found[i]
            found[i] = functional.softshrink(rest, 0.1) / table[i, i]
        return found

    return step


def sets_of_many_sizes() -> Step:
    """Return attention within sets of very different sizes, each on its own."""
    sizes = [4, 6, 900, 8, 5, 12, 700, 9, 7, 16, 10, 5]
    ends = list(itertools.accumulate(sizes))
    rows, layer = torch.rand(sum(sizes), 64), nn.Linear(64, 192)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        query, key, value = layer(rows).chunk(3, dim=-1)
        every = []
        for end, size in zip(ends, sizes, strict=True):
            own = [one[None, end - size : end] for one in (query, key, value)]
            every.append(functional.scaled_dot_product_attention(*own)[0])
        return torch.cat(every)

    return step


def two_senses() -> Step:
    """Return items by their text where they have one, and by their picture unless it is blank."""
    senses = [perceptron(256, 1024, 256).to(DEVICE) for _ in range(2)]
    texts, pictures = (torch.rand(1024, 256).to(DEVICE) for _ in range(2))
    has_text, is_blank = ((torch.rand(1024, 1) > 0.2).to(DEVICE) for _ in range(2))
    head = nn.Linear(256, 8).to(DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        text = senses[0](texts) * has_text
        picture = senses[1](pictures) * ~is_blank
        return head(text + picture)  # type: ignore[no-any-return]

    return step


def noise_by_dropout() -> Step:
    """Return pictures of a generator whose only noise is its dropout, as of pix2pix."""
    generator = nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 256),
    ).to(DEVICE).train()  # fmt: skip
    sketches = torch.rand(1024, 256).to(DEVICE)

    @torch.no_grad()
    def step() -> torch.Tensor:
        return generator(sketches).tanh()  # type: ignore[no-any-return]

    return step


def biased_by_layer() -> Step:
    """Return attention whose distances count in coarser steps in each layer."""
    query, key, value = (torch.rand(2, 4, 384, 32).to(DEVICE) for _ in range(3))

    @torch.no_grad()
    def step() -> torch.Tensor:
        order = torch.arange(384, device=DEVICE)
        apart = (order[:, None] - order[None]).abs()
        hidden = query
        for layer in range(6):
            bias = -torch.div(apart, 2**layer, rounding_mode="floor").to(hidden.dtype)
            scores = torch.matmul(hidden, key.mT) + bias
            hidden = torch.matmul(scores.softmax(dim=-1), value)
        return hidden

    return step


def balanced_experts() -> Step:
    """Return a soft mixture of few experts, with the share of each as the measure of balance."""
    experts = [perceptron(128, 256, 128).to(DEVICE) for _ in range(4)]
    gate = nn.Linear(128, 4).to(DEVICE)
    inputs = torch.rand(512, 128).to(DEVICE)

    @torch.no_grad()
    def step() -> tuple[torch.Tensor, torch.Tensor]:
        chance = gate(inputs).softmax(dim=-1)
        hidden = torch.zeros_like(inputs)
        for i, expert in enumerate(experts):
            hidden += chance[:, i : i + 1] * expert(inputs)
        return hidden, chance.mean(0)

    return step


def rates_of_layers() -> Step:
    """Return updates of layers by a rate that each takes from its own norms, as LARS has it."""
    model = perceptron(128, 512, 384, 256, 8).to(DEVICE)
    weights = list(model.parameters())
    inputs, labels = torch.rand(512, 128).to(DEVICE), torch.randint(8, (512,)).to(DEVICE)

    def step() -> None:
        functional.cross_entropy(model(inputs), labels).backward()
        with torch.no_grad():
            grads = [one.grad for one in weights if one.grad is not None]
            sizes = torch._foreach_norm(weights)  # type: ignore[arg-type]
            slopes = torch._foreach_norm(grads)
            rates = torch._foreach_div(sizes, torch._foreach_add(slopes, 1e-9))
            torch._foreach_mul_(grads, rates)  # type: ignore[arg-type]
            torch._foreach_add_(weights, grads, alpha=-1e-3)  # type: ignore[arg-type]
        for one in weights:
            one.grad = None

    return step


PROGRAMS: tuple[RightProgram, ...] = (
    RightProgram(supervised_towers.__name__, "towers with heads", HOST, supervised_towers, FULL),
    RightProgram(edges_of_points.__name__, "edges of points", HOST, edges_of_points, SHAPES),
    RightProgram(weighted_by_counts.__name__, "labels by counts", HOST, weighted_by_counts, FULL),
    RightProgram(penalized_spectrum.__name__, "a whole spectrum", HOST, penalized_spectrum, FULL),
    RightProgram(resampled_particles.__name__, "particles", HOST, resampled_particles, SHAPES),
    RightProgram(drawn_by_seed.__name__, "doubt by seeds", HOST, drawn_by_seed, FULL),
    RightProgram(fitted_neuron.__name__, "a neuron's constants", HOST, fitted_neuron, FULL),
    RightProgram(one_by_one_in_turn.__name__, "coordinates", HOST, one_by_one_in_turn, FULL),
    RightProgram(sets_of_many_sizes.__name__, "ragged sets", HOST, sets_of_many_sizes, FULL),
    RightProgram(two_senses.__name__, "texts and pictures", DEVICE, two_senses, FULL),
    RightProgram(noise_by_dropout.__name__, "dropout as noise", DEVICE, noise_by_dropout, SHAPES),
    RightProgram(biased_by_layer.__name__, "bias by layer", DEVICE, biased_by_layer, FULL),
    RightProgram(balanced_experts.__name__, "balanced experts", DEVICE, balanced_experts, FULL),
    RightProgram(rates_of_layers.__name__, "rates of layers", DEVICE, rates_of_layers, FULL),
)
