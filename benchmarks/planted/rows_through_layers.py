"""Two faults that were written when rows were followed through layers: one such, one other."""

from __future__ import annotations

from typing import Final

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional

from benchmarks.pairs.pair import Forms, Step
from benchmarks.planted.fault import planted


class Block(nn.Module):
    """A causal layer of a transformer, whose caller may want the last state alone."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.triple, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, hidden: torch.Tensor, last_alone: bool = False) -> torch.Tensor:
        """Return the states, with the shape batch, length or 1, width."""
        normed = self.before(hidden)
        query, key, value = self._projected(normed, last_alone)
        query, key, value = (self._split(one) for one in (query, key, value))
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=not last_alone)
        state = (hidden[:, -1:] if last_alone else hidden) + self.mix(
            found.transpose(1, 2).flatten(2)
        )
        result: torch.Tensor = state + self.outer(functional.silu(self.inner(self.between(state))))
        return result

    def _projected(self, normed: torch.Tensor, last_alone: bool) -> tuple[torch.Tensor, ...]:
        if not last_alone:
            return self.triple(normed).chunk(3, dim=-1)  # type: ignore[no-any-return]
        width = normed.shape[-1]
        weight, bias = self.triple.weight, self.triple.bias
        pair = functional.linear(normed, weight[width:], bias[width:])
        return (
            functional.linear(normed[:, -1:], weight[:width], bias[:width]),
            *pair.chunk(2, dim=-1),
        )

    def _split(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def forecast_of_all() -> Forms:
    """Train on the forecast behind the last state, of a last layer for all states or for it."""
    series, wanted = torch.rand(16, 160, 8), torch.rand(16, 1)

    def form(last_alone: bool) -> Step:
        entry, head = nn.Linear(8, 128), nn.Linear(128, 1)
        first, second, norm = Block(128, 4), Block(128, 4), nn.LayerNorm(128)
        model = nn.ModuleList((entry, first, second, norm, head))
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            states = norm(second(first(entry(series)), last_alone))
            functional.mse_loss(head(states[:, -1]), wanted).backward()
            adam.step()
            adam.zero_grad()

        return step

    return Forms(form(False), form(True))


def repeated_context() -> Forms:
    """Project a context that was repeated for each token, or project it and repeat the result."""
    tokens, context = torch.rand(32, 96, 128), torch.rand(32, 256)

    def form(repeats: bool) -> Step:
        body, beside = nn.Linear(128, 256), nn.Linear(256, 256)
        head = nn.Sequential(nn.GELU(), nn.Linear(256, 16))
        model = nn.ModuleList((body, beside, head))
        adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            if repeats:
                known = beside(context.unsqueeze(1).repeat(1, 96, 1))
            else:
                known = beside(context).unsqueeze(1)
            head(body(tokens) + known).square().mean().backward()
            adam.step()
            adam.zero_grad()

        return step

    return Forms(form(True), form(False))


PAIRS: Final = tuple(
    replace(planted(name, what, build, "cpu"), of_process=True)
    for name, what, build in (
        ("forecast_of_all", "a last layer of all states for the last one", forecast_of_all),
        ("repeated_context", "a context repeated ahead of its layer", repeated_context),
    )
)
