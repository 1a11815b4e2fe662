"""Training of a classifier of pictures on the reference device. It is slow for four reasons."""

import time
from collections.abc import Iterator

import refdevice
import torch
from recorder import record
from torch import nn
from torch.utils.data import DataLoader, Dataset

refdevice.configure(speed=0.15)  # kernels of a millisecond
refdevice.register_kineto()
DEVICE = "refdev"
BATCH, SIDE, WIDTH, LAYERS, CLASSES = 32, 64, 64, 16, 10


class Pictures(Dataset[tuple[torch.Tensor, int]]):
    """Pictures on the disk."""

    def __init__(self) -> None:
        self.pixels = torch.rand(BATCH, SIDE * SIDE)
        self.labels = torch.randint(CLASSES, (BATCH,)).tolist()

    def __len__(self) -> int:
        return 8 * BATCH

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(0.001)  # reads the file and decodes it
        return self.pixels[index % BATCH], self.labels[index % BATCH]


def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Pictures and labels for ever."""
    while True:
        for pictures, labels in DataLoader(Pictures(), batch_size=BATCH):
            yield pictures.to(DEVICE), labels.to(DEVICE)


def augmented(pictures: torch.Tensor) -> torch.Tensor:
    """The pictures with noise."""
    return pictures + 0.1 * torch.randn(BATCH, SIDE * SIDE).to(DEVICE)


class Timed(nn.Module):
    """A layer that knows how long it took."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.seconds = 0.0

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        begun = time.perf_counter()
        outputs = self.layer(inputs)
        torch.accelerator.synchronize()
        self.seconds += time.perf_counter() - begun
        return outputs


def watch(model: nn.Module, history: list[float]) -> None:
    """Keep how large the gradients are."""
    for parameter in model.parameters():
        assert parameter.grad is not None
        history.append(parameter.grad.norm().item())
        history.append(parameter.grad.max().item())


def main() -> None:
    torch.manual_seed(0)
    hidden = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    layers = [nn.Linear(SIDE * SIDE, WIDTH), *hidden, nn.Linear(WIDTH, CLASSES)]
    model = nn.Sequential(*(Timed(layer) for layer in layers))
    model = model.to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    data = batches()
    history: list[float] = []

    def step() -> None:
        pictures, labels = next(data)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(augmented(pictures)), labels)
        loss.backward()
        watch(model, history)
        optimizer.step()

    record(step)


if __name__ == "__main__":
    main()
