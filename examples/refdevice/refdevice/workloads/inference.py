"""Generation of text: the host waits for the device at every token and at the end."""

import torch

from .script import Step, main
from .transformer import LENGTH, WORDS, LanguageModel

TOKENS = 6  # generated in a step


def build(device: str) -> Step:
    """Prepare on the device and give the step."""
    model = LanguageModel().to(device).eval()
    # torch would hand a whole layer to the backend as one operator; vendors rarely have that one.
    torch.backends.mha.set_fastpath_enabled(False)
    prompt = torch.randint(WORDS, (1, LENGTH - TOKENS))

    @torch.no_grad()
    def step() -> torch.Tensor:
        tokens = prompt.tolist()[0]
        for _ in range(TOKENS):
            scores = model(torch.tensor([tokens]).to(device))
            tokens.append(int(scores[0, -1].argmax().item()))
        if device != "cpu":
            torch.accelerator.synchronize()
        return torch.tensor(tokens)

    return step


if __name__ == "__main__":
    main(build, __doc__)
