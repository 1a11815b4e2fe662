"""The Trace: read-only columns of one recording, findings, errors, and arithmetic on them."""

__all__ = [
    "blocking_names",
    "call_tree",
    "errors",
    "file_checkpoints",
    "findings",
    "groupby",
    "inference_basis",
    "intervals",
    "labels",
    "launch_configs",
    "memoize",
    "memory_budget",
    "model",
    "table",
    "uncertainty",
    "vendor",
]
