"""A training loop in which anomaly detection was left on."""

from __future__ import annotations

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
torch.autograd.set_detect_anomaly(True)
model = nn.Sequential(*(nn.Sequential(nn.Linear(96, 96), nn.GELU()) for _ in range(12)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
inputs, targets = torch.randn(64, 96), torch.randn(64, 96)
for _ in range(200):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()
