"""A model that is float16 on a host, whose products are slow in that type."""

from __future__ import annotations

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 128)).half()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs, targets = torch.randn(64, 128), torch.randn(64, 128)
for _ in range(200):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs.half()), targets.half()).backward()
    optimizer.step()
