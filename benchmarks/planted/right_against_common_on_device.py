"""Right programs of the reference device whose statistics look like metrics, but are used."""

from __future__ import annotations

from typing import Any, Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.right import FULL, RightProgram
from benchmarks.planted.right_on_host import perceptron

DEVICE: Final = "refdev"


def adaptive_divergence() -> Step:
    """Return updates of a policy; a cost on the device follows the last divergence."""
    model = perceptron(64, 256, 1024).to(DEVICE)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    states, actions = torch.randn(512, 64).to(DEVICE), torch.randint(1024, (512, 1)).to(DEVICE)
    gained, cost = torch.randn(512).to(DEVICE), torch.ones((), device=DEVICE)
    with torch.no_grad():
        before = functional.log_softmax(model(states), dim=1)
    was = before.gather(1, actions).squeeze(1)

    def step() -> None:
        scores = functional.log_softmax(model(states), dim=1)
        chance = scores.gather(1, actions).squeeze(1)
        ratio = (chance - was).exp()
        gain = (ratio * gained).mean()
        loss = cost * (was - chance).square().mean() - gain
        with torch.no_grad():
            apart = functional.kl_div(scores, before, log_target=True, reduction="batchmean")
            turn = torch.where(apart > 0.01, 1.5, 0.75)
        adam.zero_grad()
        loss.backward()
        adam.step()
        cost.mul_(turn).clamp_(1e-3, 1e3)

    return step


def answers_of_last_turn() -> Step:
    """Return training that stays near the answers of the turn before, softened."""
    model = perceptron(128, 256, 1000).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, labels = torch.rand(256, 128).to(DEVICE), torch.randint(1000, (256,)).to(DEVICE)
    last = torch.full((256, 1000), 1e-3).to(DEVICE)

    def step() -> None:
        nonlocal last
        scores = model(inputs)
        near = functional.kl_div(functional.log_softmax(scores / 2, 1), last, reduction="batchmean")
        loss = functional.cross_entropy(scores, labels) + near
        last = functional.softmax(scores.detach() / 2, dim=1)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def averaged_answers() -> Step:
    """Return training toward a running average of answers, kept in place for each sample."""
    model = perceptron(128, 256, 1000).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, labels = torch.rand(256, 128).to(DEVICE), torch.randint(1000, (256,)).to(DEVICE)
    kept = torch.full((256, 1000), 1e-3).to(DEVICE)

    def step() -> None:
        scores = model(inputs)
        near = (functional.softmax(scores, dim=1) - kept).square().sum(dim=1).mean()
        loss = functional.cross_entropy(scores, labels) + near
        with torch.no_grad():
            kept.lerp_(functional.softmax(scores, dim=1), 0.1)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def weights_of_samples() -> Step:
    """Return training whose backward pass begins with a weight for each sample."""
    model = perceptron(128, 256, 1000).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, labels = torch.rand(256, 128).to(DEVICE), torch.randint(1000, (256,)).to(DEVICE)

    def step() -> None:
        scores = model(inputs)
        losses = functional.cross_entropy(scores, labels, reduction="none")
        with torch.no_grad():
            chance = functional.softmax(scores, dim=1)
            doubt = -(chance * chance.clamp(min=1e-6).log()).sum(dim=1)
            weights = doubt / doubt.sum()
        adam.zero_grad()
        losses.backward(weights)
        adam.step()

    return step


def labels_of_last_turn() -> Step:
    """Return training on the model's own answers, those of the turn before."""
    model = perceptron(128, 256, 1000).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, labels = torch.rand(256, 128).to(DEVICE), torch.randint(1000, (256,)).to(DEVICE)

    def step() -> None:
        nonlocal labels
        scores = model(inputs)
        loss = functional.cross_entropy(scores, labels)
        labels = scores.detach().argmax(dim=1)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


class Balanced(torch.autograd.Function):
    """A loss of scores whose gradient is divided by the share of each class."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, labels: torch.Tensor, shares: torch.Tensor) -> Any:
        """Return the mean loss."""
        chances = torch.log_softmax(scores, dim=1)
        weight = shares.index_select(0, labels).reciprocal()
        ctx.save_for_backward(chances, labels, weight)
        return -(chances.gather(1, labels.unsqueeze(1)).squeeze(1) * weight).mean()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        """Return the gradient of the scores."""
        chances, labels, weight = ctx.saved_tensors
        slope = chances.exp()
        slope.scatter_add_(1, labels.unsqueeze(1), slope.new_full((len(labels), 1), -1.0))
        return slope.mul_((weight * grads[0] / len(labels)).unsqueeze(1)), None, None


def balanced_classes() -> Step:
    """Return training by a loss of its own, divided by the mean chance of each class."""
    model = perceptron(128, 256, 1000).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, labels = torch.rand(256, 128).to(DEVICE), torch.randint(1000, (256,)).to(DEVICE)

    def step() -> None:
        scores = model(inputs)
        with torch.no_grad():
            shares = functional.softmax(scores, dim=1).mean(dim=0).mul(1000).clamp(0.1, 10)
        loss = Balanced.apply(scores, labels, shares)
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def evened_experts() -> Step:
    """Return training of experts whose loads move a bias of the gate for the next step."""
    count, tokens, width = 16, 384, 128
    gate, head = nn.Linear(width, count).to(DEVICE), nn.Linear(width, 64).to(DEVICE)
    first = nn.Parameter((torch.randn(count, width, width) * 0.05).to(DEVICE))
    weights = [*gate.parameters(), *head.parameters(), first]
    adam = torch.optim.AdamW(weights, fused=True)
    inputs, labels = torch.randn(tokens, width).to(DEVICE), torch.randint(64, (tokens,)).to(DEVICE)
    bias = torch.zeros(count, device=DEVICE)

    def step() -> None:
        nonlocal bias
        scores = gate(inputs).sigmoid()
        with torch.no_grad():
            _, chosen = (scores + bias).topk(2 * tokens // count, dim=0)
        sent = inputs[chosen.T.flatten()].view(count, -1, width)
        made = torch.bmm(sent, first).flatten(0, 1) * scores.gather(0, chosen).T.reshape(-1, 1)
        mixed = torch.zeros_like(inputs).index_add(0, chosen.T.flatten(), made)
        loss = functional.cross_entropy(head(mixed), labels)
        with torch.no_grad():
            loads = functional.softmax(scores * 8, dim=1).mean(dim=0)
            bias = bias + 0.01 * (loads.mean() - loads).sign()
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def priorities_on_host() -> Step:
    """Return training of quantiles of values; a tree on the host needs errors, in double."""
    model, last = perceptron(64, 256, 200).to(DEVICE), perceptron(64, 256, 200).to(DEVICE)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    states, after = torch.randn(512, 64).to(DEVICE), torch.randn(512, 64).to(DEVICE)
    paid, tree = torch.randn(512, 1).to(DEVICE), torch.ones(4096, dtype=torch.float64)

    def step() -> None:
        chosen = torch.multinomial(tree, 512)
        values = model(states)
        with torch.no_grad():
            wanted = paid + 0.99 * last(after)
        loss = functional.smooth_l1_loss(values, wanted)
        with torch.no_grad():
            error = (values - wanted).abs().mean(dim=1).add_(1e-3).pow_(0.6)
        adam.zero_grad()
        loss.backward()
        adam.step()
        tree[chosen] = error.to("cpu", torch.float64)

    return step


def doubt_in_the_loss() -> Step:
    """Return training of a head of doubt; its mean is added up, and read each fifty steps."""
    model = perceptron(128, 512, 512).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, goal = torch.rand(384, 128).to(DEVICE), torch.rand(384, 256).to(DEVICE)
    total, steps = torch.zeros((), device=DEVICE), 0

    def step() -> float | None:
        nonlocal steps
        mean, doubt = model(inputs).chunk(2, dim=1)
        spread = functional.softplus(doubt) + 1e-4
        loss = (spread.log() + (mean - goal).square() / spread).mean()
        total.add_(loss.detach())
        adam.zero_grad()
        loss.backward()
        adam.step()
        steps += 1
        if steps % 50:
            return None
        shown = total.item() / 50
        total.zero_()
        return shown

    return step


def scaled_returns() -> Step:
    """Return training of an actor whose gains are divided by a running spread of returns."""
    actor, critic = perceptron(64, 256, 512).to(DEVICE), perceptron(64, 256, 128).to(DEVICE)
    adam = torch.optim.Adam([*actor.parameters(), *critic.parameters()], fused=True)
    states, actions = torch.randn(512, 64).to(DEVICE), torch.randint(512, (512, 1)).to(DEVICE)
    paid = torch.randn(512, 128).to(DEVICE)
    scale = torch.ones((), device=DEVICE)

    def step() -> None:
        scores = functional.log_softmax(actor(states), dim=1)
        worth = critic(states)
        left = paid - worth
        with torch.no_grad():
            gain = left.mean(dim=1)
        chance = scores.gather(1, actions).squeeze(1)
        doubt = -(scores.exp() * scores).sum(dim=1).mean()
        loss = left.square().mean() - 0.01 * doubt - (chance * gain).mean() / scale
        with torch.no_grad():
            spread = (left - left.mean()).square().mean().sqrt().clamp(min=1.0)
        adam.zero_grad()
        loss.backward()
        adam.step()
        scale.lerp_(spread, 0.01)

    return step


def contrast_by_masks() -> Step:
    """Return training of vectors: samples of a class are near, and the mask leaves a row itself."""
    model = perceptron(256, 512, 128).to(DEVICE)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    inputs, labels = torch.rand(384, 256).to(DEVICE), torch.randint(32, (384,)).to(DEVICE)
    own = torch.eye(384, dtype=torch.bool).to(DEVICE)

    def step() -> None:
        rows = functional.normalize(model(inputs), dim=1)
        alike = (rows @ rows.T / 0.1).masked_fill(own, -1e9)
        pairs = (labels.unsqueeze(1) == labels.unsqueeze(0)) & ~own
        scores = functional.log_softmax(alike, dim=1).masked_fill(~pairs, 0.0)
        loss = -(scores.sum(dim=1) / pairs.sum(dim=1).clamp(min=1)).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def forces_of_energy() -> Step:
    """Return training on energies and forces, which are slopes of the energy."""
    layers = nn.Linear(96, 384), nn.Tanh(), nn.Linear(384, 384), nn.Tanh(), nn.Linear(384, 1)
    model = nn.Sequential(*layers).to(DEVICE)
    weights = list(model.parameters())
    adam = torch.optim.AdamW(weights, fused=True)
    places = torch.randn(192, 96).to(DEVICE)
    energies, forces = torch.randn(192, 1).to(DEVICE), torch.randn(192, 96).to(DEVICE)

    def step() -> None:
        moved = places.detach().requires_grad_()
        energy = model(moved)
        (slope,) = torch.autograd.grad(energy.sum(), moved, create_graph=True)
        loss = functional.mse_loss(energy, energies) + functional.mse_loss(-slope, forces)
        adam.zero_grad()
        loss.backward(inputs=weights)
        adam.step()

    return step


def words_that_look_back() -> Step:
    """Return training of a decoder whose cell takes what it looks at with its last state."""
    width, words, places = 128, 512, 12
    gate, own = nn.Linear(3 * width, width).to(DEVICE), nn.Linear(3 * width, width).to(DEVICE)
    head, table = nn.Linear(2 * width, words).to(DEVICE), nn.Embedding(words, width).to(DEVICE)
    modules = nn.ModuleList((gate, own, head, table))
    adam = torch.optim.AdamW(modules.parameters(), fused=True)
    heard = torch.randn(24, 40, width).to(DEVICE)
    text = torch.randint(words, (24, places + 1)).to(DEVICE)

    def step() -> None:
        state, said = heard.mean(dim=1), []
        for word in table(text[:, :-1]).unbind(1):
            near = torch.bmm(heard, state.unsqueeze(2)).squeeze(2).softmax(dim=1)
            seen = torch.bmm(near.unsqueeze(1), heard).squeeze(1)
            joined = torch.cat((word, seen, state), dim=1)
            state = torch.lerp(state, own(joined).tanh(), gate(joined).sigmoid())
            said.append(torch.cat((state, seen), dim=1))
        scores = head(torch.stack(said, dim=1)).flatten(0, 1)
        loss = functional.cross_entropy(scores, text[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


PROGRAMS: tuple[RightProgram, ...] = tuple(
    RightProgram(build.__name__, what, DEVICE, build, FULL)
    for build, what in (
        (adaptive_divergence, "a cost that follows the last divergence"),
        (answers_of_last_turn, "answers of the turn before as a target"),
        (labels_of_last_turn, "answers of the turn before as labels"),
        (averaged_answers, "a running average of answers as a target"),
        (weights_of_samples, "weights that begin the backward pass"),
        (balanced_classes, "a loss of its own with shares of classes"),
        (evened_experts, "loads of experts that move the gate"),
        (priorities_on_host, "errors that a tree of the host needs"),
        (doubt_in_the_loss, "doubt in the loss, shown each fifty steps"),
        (scaled_returns, "gains divided by a running spread"),
        (contrast_by_masks, "vectors of classes with masks"),
        (forces_of_energy, "energies and their slopes"),
        (words_that_look_back, "a decoder with a look at what it heard"),
    )
)
