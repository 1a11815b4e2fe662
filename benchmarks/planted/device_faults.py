"""Faults in the work of the device: what a fused or a cheaper operator would do in one pass."""

from __future__ import annotations

import refdevice  # noqa: F401  # makes the device known to torch
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from benchmarks.pairs.pair import Forms
from benchmarks.planted.fault import planted
from benchmarks.planted.programs import WIDTH, WORDS, Block, Network, inference, training

DEVICE = "refdev"


class GeluByHand(Block):
    """The activation of GPT-2 as its authors wrote it."""

    def activate(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the activation by eight operators."""
        cubed = hidden + 0.044715 * torch.pow(hidden, 3.0)
        return 0.5 * hidden * (1.0 + torch.tanh(0.7978845608 * cubed))


class NormByHand(Block):
    """A root mean square norm of elementary operators."""

    def normalize(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state, normalized by five operators."""
        variance = hidden.pow(2).mean(-1, keepdim=True)
        return hidden * torch.rsqrt(variance + 1e-6) * self.norm.weight


class NormFused(Block):
    """The same norm by one operator."""

    def normalize(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state, normalized."""
        return functional.layer_norm(hidden, (WIDTH,), self.norm.weight)


class LayerNormByHand(Block):
    """A layer norm of elementary operators."""

    def normalize(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the hidden state, normalized by nine operators."""
        mean = hidden.mean(-1, keepdim=True)
        variance = (hidden - mean).pow(2).mean(-1, keepdim=True)
        normal = (hidden - mean) / torch.sqrt(variance + 1e-5)
        return normal * self.norm.weight + self.norm.bias


class CastsAround(Block):
    """Each block converts to half precision and back."""

    def activate(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the activation, which was computed in half precision."""
        return functional.gelu(hidden.to(torch.bfloat16)).to(torch.float32)


class Copies(Block):
    """Each block stores a transposed copy, and copies it back."""

    def activate(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the activation of a copy in another layout."""
        turned = functional.gelu(hidden).t().contiguous()
        return turned.t().contiguous()


class ClampByHand(Block):
    """A gate and its scaling as a chain of elementwise operators."""

    def activate(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return a hard swish by five operators."""
        shifted = hidden + 3.0
        clipped = shifted.clamp(min=0.0).clamp(max=6.0)
        return hidden * clipped / 6.0


class ClampFused(Block):
    """The same by one operator."""

    def activate(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return a hard swish."""
        return functional.hardswish(hidden)


def of_blocks(fault: type[Block], clean: type[Block] = Block) -> Forms:
    """Return training of a network of the one and of the other block."""
    return Forms(training(Network(fault), DEVICE), training(Network(clean), DEVICE))


def rms_norm() -> Forms:
    """Normalize by five operators, or by one."""
    return of_blocks(NormByHand, NormFused)


def layer_norm() -> Forms:
    """Normalize by nine operators, or by one."""
    return of_blocks(LayerNormByHand)


def hard_swish() -> Forms:
    """Activate by five operators, or by one."""
    return of_blocks(ClampByHand, ClampFused)


def loss_by_hand() -> Forms:
    """Compute the cross entropy by hand, in six passes over the scores."""

    def by_hand(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        shifted = scores - scores.max(dim=-1, keepdim=True).values
        powers = shifted.exp()
        shares = powers / powers.sum(dim=-1, keepdim=True)
        return -shares.log().gather(1, targets[:, None]).mean()

    return Forms(training(Network(), DEVICE, loss=by_hand), training(Network(), DEVICE))


def one_hot() -> Forms:
    """Look words up by a product with a one-hot matrix, or by an embedding."""

    class OneHot(Network):
        def forward(self, words: torch.Tensor) -> torch.Tensor:
            table = functional.one_hot(words, WORDS).to(torch.float32)
            scores: torch.Tensor = self.head(self.blocks(table @ self.words.weight))
            return scores

    return Forms(inference(OneHot(), DEVICE), inference(Network(), DEVICE))


def recomputed() -> Forms:
    """Compute each block again in the backward pass though memory is plenty."""

    class Recomputed(Network):
        def forward(self, words: torch.Tensor) -> torch.Tensor:
            hidden = self.words(words)
            for block in self.blocks:
                hidden = checkpoint(block, hidden, use_reentrant=False)
            scores: torch.Tensor = self.head(hidden)
            return scores

    return Forms(training(Recomputed(), DEVICE), training(Network(), DEVICE))


def in_double() -> Forms:
    """Compute in float64 because a constant of numpy made it so, or in float32."""

    def form(dtype: torch.dtype) -> nn.Module:
        return Network().to(dtype)

    return Forms(inference(form(torch.float64), DEVICE), inference(form(torch.float32), DEVICE))


def growing_cache() -> Forms:
    """Decode with a cache that ``cat`` copies for each token, or with one allocated once."""
    steps, width = 12, 2048
    token = torch.rand(64, 1, width).to(DEVICE)
    layer = nn.Linear(width, 64).to(DEVICE)

    @torch.no_grad()
    def grown() -> torch.Tensor:
        cache = token
        for _ in range(steps):
            cache = torch.cat([cache, token], dim=1)
            layer(cache[:, -1])
        return cache

    @torch.no_grad()
    def placed() -> torch.Tensor:
        cache = torch.empty(64, steps + 1, width, device=DEVICE)
        cache[:, 0] = token[:, 0]
        for i in range(steps):
            cache[:, i + 1] = token[:, 0]
            layer(cache[:, i + 1])
        return cache

    return Forms(grown, placed)


PAIRS = (
    planted("gelu_by_hand", "GELU by eight operators", lambda: of_blocks(GeluByHand)),
    planted(
        "rms_norm_by_hand", "RMSNorm by five operators", lambda: of_blocks(NormByHand, NormFused)
    ),
    planted(
        "layer_norm_by_hand", "LayerNorm by nine operators", lambda: of_blocks(LayerNormByHand)
    ),
    planted("casts", "casts to bfloat16 and back", lambda: of_blocks(CastsAround)),
    planted("layout_copies", "transposed copies in each block", lambda: of_blocks(Copies)),
    planted(
        "hardswish_by_hand",
        "hard swish by five operators",
        lambda: of_blocks(ClampByHand, ClampFused),
    ),
    planted("loss_by_hand", "cross entropy by hand", loss_by_hand),
    planted("one_hot", "an embedding as a product with one-hot rows", one_hot),
    planted("recomputed", "checkpointing without need", recomputed),
    planted("double", "float64 throughout", in_double),
    planted("growing_cache", "a cache grown by cat", growing_cache),
)
