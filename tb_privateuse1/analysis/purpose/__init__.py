"""Purpose: what each piece of a training step is for, and the work that training does not need."""

__all__ = [
    "pieces",
    "rounds",
    "side_effects",
    "side_work",
]
