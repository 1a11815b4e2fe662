"""A model of large layers and small batches, whose gradients are filled with zeros."""

from __future__ import annotations

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
model = nn.Sequential(*(nn.Sequential(nn.Linear(512, 512), nn.Tanh()) for _ in range(6)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs, targets = torch.randn(16, 512), torch.randn(16, 512)
for _ in range(200):
    optimizer.zero_grad(set_to_none=False)
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()
