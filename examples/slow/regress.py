"""Training of a regression on the CPU. It is slow for four reasons."""

import time
from collections.abc import Iterator

import torch
from recorder import record
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH, LAYERS, EACH = 64, 96, 60, 16


class Samples(Dataset):
    """Measurements in files."""

    def __len__(self) -> int:
        return 8 * BATCH

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if index % EACH == 0:
            time.sleep(0.0005)  # reads and parses the next file
        return torch.full((WIDTH,), index / BATCH), torch.ones(WIDTH)


def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Inputs and targets for ever."""
    while True:
        yield from DataLoader(Samples(), batch_size=BATCH)


def weights(inputs: torch.Tensor) -> torch.Tensor:
    """How much each sample counts."""
    found = torch.zeros(BATCH)
    for row in range(BATCH):
        found[row] = inputs[row].exp().sum()
    return found / found.sum()


def forget(optimizer: torch.optim.Optimizer) -> None:
    """Start from gradients of zero."""
    optimizer.zero_grad(set_to_none=False)


def learn(optimizer: torch.optim.Optimizer) -> None:
    """Move the weights."""
    optimizer.step()


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=False)
    data = batches()

    def step() -> None:
        inputs, targets = next(data)
        forget(optimizer)
        loss = ((model(inputs) - targets).square().sum(dim=1) * weights(inputs)).mean()
        loss.backward()
        learn(optimizer)

    record(step)


if __name__ == "__main__":
    main()
