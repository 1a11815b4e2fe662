"""Decoding with a cache on the reference device, token by token. It is slow for four reasons."""

import refdevice
import torch
from recorder import record
from torch import nn
from torch.nn import functional

refdevice.configure(bandwidth_gb_per_s=1, throughput_gflop_per_s=20)  # the host is faster
refdevice.register_kineto()
DEVICE = "refdev"
WORDS, WIDTH, HEADS, LAYERS, TOKENS, SEQUENCES, END = 1024, 128, 4, 2, 12, 32, 0


class Weights(nn.Module):
    """The weights of a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(WIDTH))
        self.parts, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)


class Layer(Weights):
    """Attention to all earlier tokens, and two products."""

    def forward(
        self, hidden: torch.Tensor, cache: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        parts = self.parts(normalized(hidden, self.gain)).reshape(SEQUENCES, 3, HEADS, 1, -1)
        cache = extended(cache, parts[:, 1:])
        found = attention(parts[:, 0], cache[:, 0], cache[:, 1])
        hidden = hidden + self.mix(found.reshape(SEQUENCES, WIDTH))
        inner = functional.gelu(self.inner(normalized(hidden, self.gain)))
        return hidden + self.outer(inner), cache


def normalized(hidden: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """The hidden state without its mean, scaled."""
    mean = hidden.mean(dim=-1, keepdim=True)
    variance = (hidden - mean).pow(2).mean(dim=-1, keepdim=True)
    return (hidden - mean) * torch.rsqrt(variance + 1e-5) * gain


def attention(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The values of all tokens by their likeness, in one kernel of the device."""
    values, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, keys, values)
    return values


def extended(cache: torch.Tensor | None, tokens: torch.Tensor) -> torch.Tensor:
    """Keys and values of all tokens so far."""
    return tokens if cache is None else torch.cat([cache, tokens], dim=3)


def position(place: int) -> torch.Tensor:
    """What is added to a token for its place."""
    rates = torch.arange(WIDTH, device=DEVICE) / WIDTH
    return torch.sin(place * 10_000**-rates)


def likeliest(scores: torch.Tensor) -> torch.Tensor:
    """The likeliest word of each sequence."""
    return scores.double().softmax(dim=-1).argmax(dim=-1)


def finished(words: torch.Tensor) -> bool:
    """Whether all sequences have ended."""
    return bool((words == END).all().item())


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    embedding = nn.Embedding(WORDS, WIDTH).to(DEVICE)
    layers = [Layer().to(DEVICE) for _ in range(LAYERS)]
    scores = nn.Linear(WIDTH, WORDS).to(DEVICE)

    def step() -> torch.Tensor:
        words = torch.ones(SEQUENCES, dtype=torch.int64, device=DEVICE)
        caches: list[torch.Tensor | None] = [None] * LAYERS
        for place in range(TOKENS):
            hidden = embedding(words) + position(place)
            for i, layer in enumerate(layers):
                hidden, caches[i] = layer(hidden, caches[i])
            words = likeliest(scores(hidden))
            if finished(words):
                break
        return words

    record(step)


if __name__ == "__main__":
    main()
