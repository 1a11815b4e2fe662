"""Training of a small causal transformer: embeddings, attention, layer norms and AdamW."""

import torch
from torch import nn

from .script import Step, main

BATCH, LENGTH, WIDTH, HEADS, LAYERS, WORDS = 4, 32, 64, 4, 2, 256


class LanguageModel(nn.Module):
    """Predict the next word at each place."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.scores = nn.Linear(WIDTH, WORDS)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score all words for each of the tokens' places."""
        length = tokens.size(1)
        hidden = self.words(tokens) + self.places.weight[:length]
        return self.scores(self.layers(hidden, mask=self.mask[:length, :length], is_causal=True))


def build(device: str) -> Step:
    """Prepare on the device and give the step."""
    model = LanguageModel().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    text = torch.randint(WORDS, (BATCH, LENGTH + 1)).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        scores = model(text[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


if __name__ == "__main__":
    main(build, __doc__)
