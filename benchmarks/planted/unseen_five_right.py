"""Programs of unlike fields without a fault, though they look unusual; by the same author."""

from __future__ import annotations

from typing import Final

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from benchmarks.pairs.pair import Step
from benchmarks.planted.fault import tuned

DEVICE: Final = "refdev"


def genes_counted() -> Step:
    """Fit counts of genes by a negative binomial, whose likelihood needs gamma functions."""
    counts = torch.poisson(torch.rand(96, 400) * 4)
    depth = counts.sum(1, keepdim=True).clamp(min=1)
    inputs, constant = torch.log1p(counts), torch.lgamma(counts + 1).sum(1)
    inward, outward = nn.Linear(400, 128), nn.Linear(16, 400)
    middle, spread = nn.Linear(128, 32), nn.Parameter(torch.zeros(400))
    weights = [*inward.parameters(), *middle.parameters(), *outward.parameters(), spread]
    adam = torch.optim.Adam(weights, lr=1e-3, fused=True)

    def step() -> torch.Tensor:
        adam.zero_grad()
        mean, log_scale = middle(functional.relu(inward(inputs))).chunk(2, 1)
        kind = torch.addcmul(mean, torch.randn_like(mean), log_scale.exp())
        rate = depth * outward(kind).softmax(1)
        size = spread.exp()
        total = rate + size
        likelihood = (
            torch.lgamma(counts + size) - torch.lgamma(size)
            + size * (size / total).log() + counts * ((rate + 1e-8) / total).log()
        ).sum(1)  # fmt: skip
        divergence = (mean.square() + (2 * log_scale).exp() - 1).sum(1) / 2 - log_scale.sum(1)
        loss = (divergence + constant - likelihood).mean()
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def planets_followed() -> Step:
    """Learn a force from paths; each of forty steps in time needs the one before."""
    force = nn.Sequential(nn.Linear(2, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
    model = nn.Sequential(force, nn.Linear(128, 2))
    begin, end = torch.randn(256, 2), torch.randn(256, 2)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step() -> torch.Tensor:
        adam.zero_grad()
        place, speed = begin, torch.zeros_like(begin)
        pull = model(place)
        for _ in range(40):
            half = torch.add(speed, pull, alpha=0.025)
            place = torch.add(place, half, alpha=0.05)
            pull = model(place)
            speed = torch.add(half, pull, alpha=0.025)
        loss = functional.mse_loss(place, end)
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def patients_kept_secret() -> Step:
    """Clip the gradient of each patient before they are added, as privacy demands."""
    model = nn.Sequential(nn.Linear(64, 96), nn.Tanh(), nn.Linear(96, 2))
    records, ill = torch.randn(128, 64), torch.randint(2, (128,))
    names = [name for name, _ in model.named_parameters()]
    weights = list(model.parameters())
    sgd = torch.optim.SGD(weights, lr=0.1, momentum=0.9, fused=True)

    def lost(some: dict[str, torch.Tensor], one: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(functional_call(model, some, (one[None],)), kind[None])

    of_each = vmap(grad(lost), in_dims=(None, 0, 0))

    def step() -> None:
        some = {name: weight.detach() for name, weight in zip(names, weights, strict=True)}
        gradients = of_each(some, records, ill)
        squares = sum(one.flatten(1).square().sum(1) for one in gradients.values())
        share = (1.0 / torch.sqrt(torch.as_tensor(squares) + 1e-12)).clamp(max=1)
        for name, weight in zip(names, weights, strict=True):
            total = torch.tensordot(share, gradients[name], 1)
            weight.grad = (total + torch.randn_like(total)) / len(records)
        sgd.step()

    return step


def tasks_adapted() -> Step:
    """Learn a start for tasks, through the gradients of two steps on each task."""
    width, tasks = 64, 12
    weights = [
        torch.randn(1, width).requires_grad_(), torch.zeros(width).requires_grad_(),
        (torch.randn(width, width) / width**0.5).requires_grad_(),
        torch.zeros(width).requires_grad_(),
        (torch.randn(width, 1) / width**0.5).requires_grad_(), torch.zeros(1).requires_grad_(),
    ]  # fmt: skip
    places, values = torch.randn(tasks, 2, 40, 1), torch.randn(tasks, 2, 40, 1)
    adam = torch.optim.Adam(weights, lr=1e-3, fused=True)

    def lost(some: list[torch.Tensor], place: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(torch.baddbmm(some[1].view(len(place), 1, -1), place, some[0]))
        hidden = torch.tanh(torch.baddbmm(some[3].view(len(place), 1, -1), hidden, some[2]))
        made = torch.baddbmm(some[5].view(len(place), 1, -1), hidden, some[4])
        return (made - value).square().mean((1, 2)).sum()

    def step() -> torch.Tensor:
        own = [weight.expand(tasks, *weight.shape) for weight in weights]
        for _ in range(2):
            slopes = torch.autograd.grad(
                lost(own, places[:, 0], values[:, 0]), own, create_graph=True
            )
            own = [
                torch.sub(one, slope, alpha=0.01) for one, slope in zip(own, slopes, strict=True)
            ]
        adam.zero_grad()
        loss = lost(own, places[:, 1], values[:, 1]) / tasks
        loss.backward()
        adam.step()
        return loss.detach()

    return step


class Tree(nn.Module):
    """Meanings of sentences, by a cell that joins two parts into one."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words, self.join = nn.Embedding(words, 2 * width), nn.Linear(2 * width, 5 * width)

    def forward(self, words: torch.Tensor, levels: list[torch.Tensor]) -> torch.Tensor:
        """Return the state of each root; ``levels`` has the pairs that are joined together."""
        state, memory = self.words(words).chunk(2, 1)
        for pairs in levels:
            one, other = pairs
            both = torch.cat([state[one], state[other]], 1)
            gate, left, right, out, new = self.join(both).chunk(5, 1)
            kept = left.sigmoid() * memory[one] + right.sigmoid() * memory[other]
            memory = torch.addcmul(kept, gate.sigmoid(), new.tanh())
            state = out.sigmoid() * memory.tanh()
        return state


def sentences_joined() -> Step:
    """Join parts of sentences, all of one height in the trees at once."""
    model, head = Tree(800, 160), nn.Linear(160, 5)
    leaves, feelings = torch.randint(800, (1024,)), torch.randint(5, (64,))
    levels = [torch.randperm(1024 >> number).view(2, -1) for number in range(4)]
    adagrad = torch.optim.Adagrad([*model.parameters(), *head.parameters()], lr=0.05, fused=True)

    def step() -> torch.Tensor:
        adagrad.zero_grad()
        loss = functional.cross_entropy(head(model(leaves, levels)), feelings)
        loss.backward()
        adagrad.step()
        return loss.detach()

    return step


def music_compressed() -> Step:
    """Code music by one book after the other, each for what those before have left."""
    waves = torch.randn(6, 1, 4096)
    encoder = nn.Sequential(nn.Conv1d(1, 32, 16, 8, 4), nn.ELU(), nn.Conv1d(32, 48, 8, 4, 2))
    decoder = nn.Sequential(
        nn.ConvTranspose1d(48, 32, 8, 4, 2), nn.ELU(), nn.ConvTranspose1d(32, 1, 16, 8, 4)
    )
    books = torch.randn(4, 128, 48) / 4
    sums, counts = books.clone(), torch.ones(4, 128, 1)
    adam = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=3e-4, fused=True)

    def step() -> torch.Tensor:
        adam.zero_grad()
        coded = encoder(waves).transpose(1, 2)
        left = coded.detach().flatten(0, 1)
        for book, total, count in zip(books, sums, counts, strict=True):
            nearest = torch.addmm(book.square().sum(1), left, book.T, alpha=-2).argmin(1)
            total.mul_(0.99).index_add_(0, nearest, left, alpha=0.01)
            seen = torch.bincount(nearest, minlength=len(book))[:, None]
            count.mul_(0.99).add_(seen, alpha=0.01)
            left = left - book[nearest]
            torch.div(total, count + 1e-5, out=book)
        chosen = coded.detach() - left.view_as(coded)
        straight = coded + (chosen - coded).detach()
        made = decoder(straight.transpose(1, 2))
        loss = functional.l1_loss(made, waves) + functional.mse_loss(coded, chosen) / 4
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def curve_of_disease() -> Step:
    """Fit a few numbers to all data by L-BFGS, which looks at the loss between its steps."""
    days, cases = torch.linspace(0, 1, 30_000), torch.rand(30_000)
    known = torch.stack([days**power for power in range(4)], 1)
    shape = torch.zeros(4, requires_grad=True)
    newton = torch.optim.LBFGS([shape], max_iter=8, line_search_fn="strong_wolfe")
    began = torch.tensor([0.5, -0.5, 0.2, 0.1])

    def closure() -> torch.Tensor:
        newton.zero_grad()
        loss = functional.huber_loss(torch.sigmoid(known @ shape), cases, delta=0.3)
        loss.backward()
        return loss

    def step() -> float:
        newton.state.clear()
        with torch.no_grad():
            shape.copy_(began)
        loss: torch.Tensor = newton.step(closure)
        return loss.item()

    return step


def noise_removed() -> Step:
    """Enhance a stream of sound; each short frame needs the clean ones before it."""
    filters = nn.Sequential(
        nn.Conv2d(1, 16, (3, 5), padding=(0, 2)), nn.PReLU(),
        nn.Conv2d(16, 16, (1, 5), padding=(0, 2)), nn.PReLU(),
    )  # fmt: skip
    memory, mask = nn.GRUCell(16 * 64, 192), nn.Linear(192, 64)
    frames = torch.rand(24, 1, 1, 1, 64)
    for part in (filters, memory, mask):
        part.eval()

    @torch.inference_mode()
    def step() -> list[torch.Tensor]:
        state, past, heard = torch.zeros(1, 192), torch.zeros(1, 1, 2, 64), []
        for frame in frames:
            window = torch.cat([past, frame], 2)
            state = memory(filters(window).flatten(1), state)
            clean = frame * mask(state).sigmoid()
            heard.append(clean)
            past = torch.cat([past[:, :, 1:], clean], 2)
        return heard

    return step


def residual(width: int) -> nn.Sequential:
    """Return what a residual block adds."""
    return nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)
    )


class Net(nn.Module):
    """A residual network."""

    def __init__(self, inner: int, width: int, blocks: int, outer: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(inner, width), nn.Linear(width, outer)
        self.blocks = nn.ModuleList([residual(width) for _ in range(blocks)])

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the outputs."""
        hidden = self.inward(hidden)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        outputs: torch.Tensor = self.outward(hidden)
        return outputs


def crystals_dreamt() -> Step:
    """Draw crystals from an energy by its slope, then teach the energy the difference."""
    energy = Net(96, 224, 2, 1).to(DEVICE)
    real, dreams = torch.randn(160, 96).to(DEVICE), torch.randn(160, 96).to(DEVICE)
    adam = torch.optim.Adam(energy.parameters(), lr=1e-4, fused=True)

    def step() -> torch.Tensor:
        energy.requires_grad_(False)
        made = dreams.clone().requires_grad_()
        for _ in range(6):
            (slope,) = torch.autograd.grad(energy(made).sum(), made)
            with torch.no_grad():
                made.add_(slope, alpha=-0.05).add_(torch.randn_like(made), alpha=0.1)
        dreams.copy_(made.detach())
        energy.requires_grad_(True)
        adam.zero_grad()
        true, false = energy(torch.cat([real, dreams])).chunk(2)
        loss = true.mean() - false.mean() + 0.1 * (true.square() + false.square()).mean()
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def walkers_bred() -> Step:
    """Search policies by chance: pairs of opposite changes, ranked, without a gradient."""
    policy = (torch.randn(48, 96) / 7).to(DEVICE), (torch.randn(96, 12) / 10).to(DEVICE)
    seen, wanted = torch.randn(256, 48).to(DEVICE), torch.randn(256, 12).to(DEVICE)

    @torch.no_grad()
    def step() -> None:
        halves = [torch.randn(24, *weight.shape, device=DEVICE) for weight in policy]
        changes = [torch.cat([half, -half]) for half in halves]
        one, two = (torch.add(w, c, alpha=0.05) for w, c in zip(policy, changes, strict=True))
        acts = torch.bmm(torch.tanh(torch.matmul(seen, one)), two)
        order = (wanted - acts).square().mean((1, 2)).argsort().argsort()
        worth = order.to(torch.float32).div_(47).sub_(0.5)
        for weight, change in zip(policy, changes, strict=True):
            moved = torch.mm(worth[None], change.flatten(1)).view_as(weight)
            weight.add_(moved, alpha=-0.01)

    return step


def pupil_taught() -> Step:
    """Teach a small network by a larger one, on inputs and kinds that are mixed by chance."""
    teacher, pupil = Net(128, 320, 4, 100).to(DEVICE).eval(), Net(128, 96, 2, 100).to(DEVICE)
    teacher.requires_grad_(False)
    inputs = torch.randn(128, 128).to(DEVICE)
    kinds = functional.one_hot(torch.randint(100, (128,)), 100).float().to(DEVICE)
    sgd = torch.optim.SGD(pupil.parameters(), lr=0.05, momentum=0.9, nesterov=True, fused=True)

    def step() -> torch.Tensor:
        sgd.zero_grad()
        order, share = torch.randperm(128, device=DEVICE), torch.rand(128, 1, device=DEVICE)
        mixed = torch.lerp(inputs, inputs[order], share)
        with torch.no_grad():
            told = (teacher(mixed) / 4).log_softmax(1)
        said = pupil(mixed)
        alike = functional.kl_div(
            (said / 4).log_softmax(1), told, reduction="batchmean", log_target=True
        )
        right = functional.cross_entropy(said, torch.lerp(kinds, kinds[order], share))
        loss = 16 * alike + right
        loss.backward()
        sgd.step()
        return loss.detach()

    return step


def routes_searched() -> Step:
    """Keep the best four routes for each traveller; the next stop depends on all before."""
    places, stay = nn.Embedding(256, 128).to(DEVICE), nn.Linear(128, 128).to(DEVICE)
    scorer = Net(128, 224, 2, 256).to(DEVICE).eval()
    begin = torch.randint(256, (16,)).to(DEVICE)
    offsets = (torch.arange(16) * 4)[:, None].to(DEVICE)

    @torch.inference_mode()
    def step() -> torch.Tensor:
        state = torch.tanh(places(begin))
        worth, stop = scorer(state).log_softmax(1).topk(4, 1)
        state = state.repeat_interleave(4, 0)
        routes = stop.view(-1, 1)
        for _ in range(6):
            state = torch.tanh(stay(state) + places(routes[:, -1]))
            next_worth = scorer(state).log_softmax(1).view(16, 4, 256) + worth[:, :, None]
            worth, chosen = next_worth.flatten(1).topk(4, 1)
            parent = (chosen.div(256, rounding_mode="floor") + offsets).flatten()
            state = state[parent]
            routes = torch.cat([routes[parent], chosen.remainder(256).view(-1, 1)], 1)
        return routes.view(16, 4, -1)[:, 0].cpu()

    return step


PAIRS: Final = (
    tuned(genes_counted, "counts with gamma functions", "cpu"),
    tuned(planets_followed, "forty steps in time", "cpu"),
    tuned(patients_kept_secret, "a gradient of each patient", "cpu"),
    tuned(tasks_adapted, "a gradient through gradients", "cpu"),
    tuned(sentences_joined, "trees by their heights", "cpu"),
    tuned(music_compressed, "four books of codes", "cpu"),
    tuned(curve_of_disease, "L-BFGS with a search along lines", "cpu"),
    tuned(noise_removed, "a stream of short frames", "cpu"),
    tuned(crystals_dreamt, "samples by the slope of an energy", DEVICE),
    tuned(walkers_bred, "a search without gradients", DEVICE),
    tuned(pupil_taught, "a large teacher", DEVICE),
    tuned(routes_searched, "a beam of routes", DEVICE),
)
