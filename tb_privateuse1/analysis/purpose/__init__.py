"""Purpose: what each piece of a training step is for, and the work that training does not need."""

__all__ = [
    "pieces",
    "rounds",
    "served_dropouts",
    "side_effects",
    "side_work",
]
