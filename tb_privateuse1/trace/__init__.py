"""The Trace: read-only columns of one recording, findings, errors, and arithmetic on them."""

__all__ = [
    "blocking_names",
    "call_tree",
    "captured_ranges",
    "errors",
    "file_checkpoints",
    "findings",
    "groupby",
    "inference_basis",
    "intervals",
    "kernel_context",
    "labels",
    "launch_configs",
    "memoize",
    "memory_budget",
    "model",
    "peaks",
    "step_names",
    "table",
    "uncertainty",
    "vendor",
]
