"""Idioms: chains of operators that one fused operator does, and the time that this would save."""

__all__ = [
    "attention",
    "base",
    "chains",
    "flow",
    "growth",
    "item_loops",
    "lookups",
    "loops",
    "loss_tails",
    "nodes",
    "optimizers",
    "products",
    "rates",
    "recurrence",
    "registry",
    "repeats",
    "rounds",
    "series",
    "shared_inputs",
    "tensor_loops",
]
