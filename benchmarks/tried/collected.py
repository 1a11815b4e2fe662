"""A loop that collects garbage in each step."""

from __future__ import annotations

import gc

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
inputs, targets = torch.randn(256, 256), torch.randn(256, 256)
for _ in range(200):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()
    gc.collect()
