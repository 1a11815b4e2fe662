"""Generation of text on the reference device, token by token. It is slow for four reasons."""

import refdevice
import torch
from recorder import record
from torch import nn

refdevice.configure(speed=0.05)  # kernels of a millisecond
refdevice.register_kineto()
DEVICE = "refdev"
WORDS, WIDTH, LAYERS, TOKENS, BEAMS, RECENT = 512, 128, 4, 6, 4, 48


class Model(nn.Module):
    """Scores all words for what comes behind one."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.Sequential(
            *[layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.Tanh())]
        )
        self.scores = nn.Linear(WIDTH, WORDS)

    def forward(self, word: torch.Tensor) -> torch.Tensor:
        return self.scores(self.layers(self.words(word)))


def penalties(said: torch.Tensor) -> torch.Tensor:
    """What words lose that were said not long ago."""
    found = torch.zeros(RECENT)
    for place in range(RECENT):
        found[place] = said[place] * 0.5
    return found.sum()


def probabilities(scores: torch.Tensor) -> torch.Tensor:
    """How likely each word is."""
    exact = scores.double()
    return (exact - exact.max()).exp() / (exact - exact.max()).exp().sum(dim=-1, keepdim=True)


def mass(chances: torch.Tensor) -> torch.Tensor:
    """What the words with more than the mean chance have together."""
    return torch.masked_select(chances, chances > chances.mean()).sum()


def choose(chances: torch.Tensor) -> list[int]:
    """The likeliest word of each beam."""
    words = []
    for beam in chances:
        words.append(beam.argmax().item())
    return words


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    model = Model().to(DEVICE).eval()
    recent = torch.rand(RECENT)

    def step() -> list[list[int]]:
        words, said = [1] * BEAMS, []
        for _ in range(TOKENS):
            penalty = penalties(recent)
            scores = model(torch.tensor(words).to(DEVICE)) - penalty.to(DEVICE)
            chances = probabilities(scores)
            for beam in chances:
                mass(beam)
            words = choose(chances)
            said.append(words)
        return said

    record(step)


if __name__ == "__main__":
    main()
