"""The same decoding as in decode.py, with what the advice says."""

import torch
from decode import (
    DEVICE,
    END,
    HEADS,
    LAYERS,
    SEQUENCES,
    TOKENS,
    WIDTH,
    WORDS,
    Weights,
    attention,
    position,
)
from recorder import record
from torch import nn
from torch.nn import functional


class Layer(Weights):
    """The same layer, with a norm in one operator and a cache that is allocated once."""

    def forward(self, hidden: torch.Tensor, cache: torch.Tensor, place: int) -> torch.Tensor:
        parts = self.parts(self.normalized(hidden)).reshape(SEQUENCES, 3, HEADS, -1)
        cache[:, :, :, place] = parts[:, 1:]
        query, keys, values = parts[:, 0, :, None], *cache[:, :, :, : place + 1].unbind(1)
        found = attention(query, keys, values)
        hidden = hidden + self.mix(found.reshape(SEQUENCES, WIDTH))
        done: torch.Tensor = self.outer(functional.gelu(self.inner(self.normalized(hidden))))
        return hidden + done

    def normalized(self, hidden: torch.Tensor) -> torch.Tensor:
        """The hidden state without its mean, scaled."""
        return functional.layer_norm(hidden, (WIDTH,), self.gain)


def likeliest(scores: torch.Tensor) -> torch.Tensor:
    """The likeliest word of each sequence."""
    return scores.argmax(dim=-1)


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    embedding = nn.Embedding(WORDS, WIDTH).to(DEVICE)
    layers = [Layer().to(DEVICE) for _ in range(LAYERS)]
    scores = nn.Linear(WIDTH, WORDS).to(DEVICE)
    shape = (LAYERS, SEQUENCES, 2, HEADS, TOKENS, WIDTH // HEADS)
    caches = torch.zeros(shape, device=DEVICE)
    positions = [position(place) for place in range(TOKENS)]

    def step() -> torch.Tensor:
        words = torch.ones(SEQUENCES, dtype=torch.int64, device=DEVICE)
        ended = torch.zeros(SEQUENCES, dtype=torch.bool, device=DEVICE)
        for place in range(TOKENS):
            hidden = embedding(words) + positions[place]
            for layer, cache in zip(layers, caches, strict=True):
                hidden = layer(hidden, cache, place)
            words = likeliest(scores(hidden))
            ended |= words == END
        return ended

    record(step)


if __name__ == "__main__":
    main()
