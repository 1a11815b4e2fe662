"""Training of a perceptron: a data loader, copies to the device, autograd's thread and Adam."""

from collections.abc import Iterator

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from .script import Step, main

SAMPLES, BATCH, FEATURES, HIDDEN, CLASSES = 1024, 64, 128, 256, 10


def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield features and labels for ever."""
    data = TensorDataset(torch.randn(SAMPLES, FEATURES), torch.randint(CLASSES, (SAMPLES,)))
    while True:
        yield from DataLoader(data, batch_size=BATCH, shuffle=False)


def build(device: str) -> Step:
    """Prepare on the device and give the step."""
    model = nn.Sequential(
        nn.Linear(FEATURES, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, CLASSES),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = batches()

    def step() -> torch.Tensor:
        features, labels = next(data)
        optimizer.zero_grad()
        output = model(features.to(device, non_blocking=True))
        loss = nn.functional.cross_entropy(output, labels.to(device, non_blocking=True))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


if __name__ == "__main__":
    main(build, __doc__)
