"""The same generation as in generate.py, with what the advice says."""

import torch
from generate import BEAMS, DEVICE, RECENT, TOKENS, Model
from recorder import record


def penalties(said: torch.Tensor) -> torch.Tensor:
    """What words lose that were said not long ago."""
    return (said * 0.5).sum()


def probabilities(scores: torch.Tensor) -> torch.Tensor:
    """How likely each word is."""
    return torch.softmax(scores, dim=-1)


def mass(chances: torch.Tensor) -> torch.Tensor:
    """What the words of each beam with more than the mean chance have together."""
    mean = chances.mean(dim=-1, keepdim=True)
    return torch.where(chances > mean, chances, 0.0).sum(dim=-1)


def choose(chances: torch.Tensor) -> torch.Tensor:
    """The likeliest word of each beam, on the device."""
    return chances.argmax(dim=-1)


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    model = Model().to(DEVICE).eval()
    recent = torch.rand(RECENT).to(DEVICE)
    start = torch.tensor([1] * BEAMS).to(DEVICE)

    def step() -> list[list[int]]:
        words, said = start, []
        for _ in range(TOKENS):
            chances = probabilities(model(words) - penalties(recent))
            mass(chances)
            words = choose(chances)
            said.append(words)
        return torch.stack(said).tolist()

    record(step)


if __name__ == "__main__":
    main()
