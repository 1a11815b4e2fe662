"""Detection on the host and on the reference device. It is slow for four reasons."""

import refdevice
import torch
from recorder import record
from torch import nn

refdevice.configure(speed=3)
refdevice.register_kineto()
DEVICE = "refdev"
PICTURES, HEIGHT, LENGTH, KINDS, LEAST = 4, 96, 192, 8, 0.3


def layers(inputs: int, outputs: int, width: int, count: int) -> nn.Sequential:
    """A network of products."""
    hidden = [layer for _ in range(count) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(nn.Linear(inputs, width), *hidden, nn.Linear(width, outputs)).to(DEVICE)


def networks() -> tuple[nn.Sequential, nn.Sequential]:
    """What finds features in pictures, and what finds boxes in features."""
    return layers(LENGTH, 256, width=256, count=4), layers(256, 2, width=1024, count=6)


def brightened(rows: list[list[float]]) -> list[list[float]]:
    """A picture whose darkest point is 0 and whose brightest is 1."""
    least = min(min(row) for row in rows)
    most = max(max(row) for row in rows)
    return [[(value - least) / (most - least) for value in row] for row in rows]


def loaded(rows: list[list[float]]) -> torch.Tensor:
    """A picture on the device."""
    return torch.tensor(rows).to(DEVICE, non_blocking=True)


def likely(features: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """For each kind of thing, the sum of the features that are likely to be of one."""
    found = []
    for kind in range(KINDS):
        (rows,) = torch.where(scores[:, kind] > LEAST)
        found.append(features[rows].sum(dim=0))
    return torch.stack(found)


def overlaps(boxes: torch.Tensor) -> torch.Tensor:
    """How far each box reaches into each other one, along a line."""
    found = torch.zeros(KINDS, KINDS)
    for i in range(KINDS):
        for j in range(KINDS):
            found[i, j] = torch.minimum(boxes[i, 1], boxes[j, 1]) - boxes[i, 0]
    return found


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    backbone, head = networks()
    pictures = torch.rand(PICTURES, HEIGHT, LENGTH).tolist()

    def step() -> None:
        for picture in pictures:
            features = backbone(loaded(brightened(picture))).sigmoid()
            boxes = head(likely(features, features))
            overlaps(boxes.cpu())

    record(step)


if __name__ == "__main__":
    main()
