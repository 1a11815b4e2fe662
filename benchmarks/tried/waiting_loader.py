"""A data loader without workers, whose samples come from a slow store."""

from __future__ import annotations

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SAMPLE_S = 0.004
"""What the store takes to answer."""


class Store(Dataset[torch.Tensor]):
    """Samples that take their time."""

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(SAMPLE_S)
        return torch.full((128,), index / 4096)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(128, 128), nn.GELU()) for _ in range(12)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for batch in DataLoader(Store(), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(batch), batch).backward()
        optimizer.step()
