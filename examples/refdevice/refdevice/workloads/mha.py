"""Multi-head attention, forward and backward: the demo of the published profiling recipe."""

import torch
from torch import nn

from .script import Step, main

BATCH, LENGTH, WIDTH, HEADS = 8, 64, 128, 4


def build(device: str) -> Step:
    """Prepare on the device and give the step."""
    attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(device)
    tokens = torch.randn(BATCH, LENGTH, WIDTH).to(device)

    def step() -> torch.Tensor:
        attention.zero_grad()
        output, _ = attention(tokens, tokens, tokens)
        loss = output.square().mean()
        loss.backward()
        return loss

    return step


if __name__ == "__main__":
    main(build, __doc__)
