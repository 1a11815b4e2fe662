"""Training with nothing to mend: data on the device, fused Adam, kernels far longer than a launch.

The host is steps ahead of the device, so that the device never waits.
"""

import torch
from torch import nn

from .script import Step, main

BATCH, FEATURES, HIDDEN, CLASSES = 512, 256, 256, 16


def build(device: str) -> Step:
    """Prepare on the device and give the step."""
    model = nn.Sequential(
        nn.Linear(FEATURES, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, CLASSES),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    features = torch.randn(BATCH, FEATURES).to(device)
    labels = torch.randint(CLASSES, (BATCH,)).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


if __name__ == "__main__":
    main(build, __doc__)
