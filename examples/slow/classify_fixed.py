"""The same training as in classify.py, with what the advice says."""

import torch
from classify import BATCH, CLASSES, DEVICE, LAYERS, SIDE, WIDTH, Pictures
from recorder import record
from torch import nn


def decoded() -> tuple[torch.Tensor, torch.Tensor]:
    """All pictures and labels on the device, read and decoded once."""
    data = Pictures()
    samples = [data[i] for i in range(BATCH)]
    pictures = torch.stack([pixels for pixels, _ in samples])
    return pictures.to(DEVICE), torch.tensor([label for _, label in samples]).to(DEVICE)


def augmented(pictures: torch.Tensor) -> torch.Tensor:
    """The pictures with noise."""
    return pictures + 0.1 * torch.randn_like(pictures)


def watch(model: nn.Module, history: list[torch.Tensor]) -> None:
    """Keep how large the gradients are, on the device."""
    for parameter in model.parameters():
        assert parameter.grad is not None
        history.append(parameter.grad.norm())
        history.append(parameter.grad.max())


def main() -> None:
    torch.manual_seed(0)
    hidden = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(nn.Linear(SIDE * SIDE, WIDTH), *hidden, nn.Linear(WIDTH, CLASSES))
    model = model.to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    pictures, labels = decoded()
    history: list[torch.Tensor] = []

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(augmented(pictures)), labels)
        loss.backward()
        watch(model, history)
        optimizer.step()

    record(step)
    print(f"gradients: {torch.stack(history).mean().item():.3g}")


if __name__ == "__main__":
    main()
