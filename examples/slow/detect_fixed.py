"""The same detection as in detect.py, with what the advice says."""

import torch
from detect import DEVICE, HEIGHT, KINDS, LEAST, LENGTH, PICTURES, networks
from recorder import record


def brightened(pictures: torch.Tensor) -> torch.Tensor:
    """Pictures whose darkest point is 0 and whose brightest is 1."""
    least, most = pictures.amin(dim=(1, 2), keepdim=True), pictures.amax(dim=(1, 2), keepdim=True)
    return (pictures - least) / (most - least)


def likely(features: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """For each kind of thing, the sum of the features that are likely to be of one."""
    is_likely = (scores[..., :KINDS] > LEAST).to(features.dtype)
    return is_likely.transpose(-1, -2) @ features


def overlaps(boxes: torch.Tensor) -> torch.Tensor:
    """How far each box reaches into each other one, along a line."""
    return torch.minimum(boxes[..., :, None, 1], boxes[..., None, :, 1]) - boxes[..., :, None, 0]


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    backbone, head = networks()
    pictures = torch.rand(PICTURES, HEIGHT, LENGTH).to(DEVICE)

    def step() -> torch.Tensor:
        features = backbone(brightened(pictures)).sigmoid()
        return overlaps(head(likely(features, features)))

    record(step)


if __name__ == "__main__":
    main()
