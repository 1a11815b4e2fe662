"""Two streams: chains of matrix products at the same time, joined at the end of a step."""

import torch

from .script import Step, main

SIZE, PRODUCTS = 128, 6


def chain(matrix: torch.Tensor) -> torch.Tensor:
    """Multiply and squash, each product after the one before."""
    for _ in range(PRODUCTS):
        matrix = torch.tanh(matrix @ matrix)
    return matrix


def build(device: str) -> Step:
    """Prepare on the device and give the step."""
    left = torch.randn(SIZE, SIZE).to(device) / SIZE**0.5
    right = torch.randn(SIZE, SIZE).to(device) / SIZE**0.5
    if device == "cpu":
        return lambda: chain(left).sum() + chain(right).sum()
    side = torch.refdev.Stream()

    def step() -> torch.Tensor:
        main_stream = torch.refdev.current_stream()
        side.wait_stream(main_stream)
        with torch.refdev.stream(side):
            on_side = chain(right).sum()
        on_main = chain(left).sum()
        main_stream.wait_stream(side)
        return on_main + on_side

    return step


if __name__ == "__main__":
    main(build, __doc__)
