"""A performance test, with limits of its own and a baseline.

pytest --profile-budget --profile-baseline-write examples/ci    # before a change
pytest --profile-budget examples/ci                             # after it
"""

import pytest
import torch
from torch import nn


@pytest.mark.profile_budget(step="2 s", memory="1 GB", baseline="perf-baseline.json", limit="10%")
def test_train_step(profile_budget):
    """Train a small perceptron."""
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data, labels = torch.randn(64, 256), torch.randint(10, (64,))
    for _ in profile_budget.steps():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(data), labels).backward()
        optimizer.step()
