"""A model of many small layers, whose optimizer updates one parameter after the other."""

from __future__ import annotations

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
model = nn.Sequential(*(nn.Sequential(nn.Linear(48, 48), nn.GELU()) for _ in range(24)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
inputs, targets = torch.randn(64, 48), torch.randn(64, 48)
for _ in range(200):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()
