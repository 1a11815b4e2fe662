"""The rules that may find each planted fault.

Written down before the advice was asked; rules that came later took the place of what they replace.
"""

from __future__ import annotations

PYTHON = ("python_overhead", "host_bound")

RULES_OF: dict[str, tuple[str, ...]] = {
    "norm_items": ("item_sync",),
    "synchronize": ("synchronize",),
    "python_metric": PYTHON,
    "log_fsync": (*PYTHON, "blocked_call"),
    "collected": ("garbage_collection",),
    "mask_on_host": ("filled_on_host", "blocking_copy"),
    "copies_wait": ("blocking_copy", "exposed_copy"),
    "mask_selection": ("dynamic_result", "blocked_call"),
    "row_loop": ("indexing_loop",),
    "zero_grad": ("zeroed_gradients",),
    "adam_loop": ("optimizer_loop",),
    "clip_loop": ("item_sync", "optimizer_loop", "unrolled_foreach"),
    "slow_loader": ("single_process_loader", "data_loader"),
    "checkpoints": ("uneven_steps", "blocking_copy", *PYTHON),
    "tiny_products": ("product_series", "tiny_kernels", "indexing_loop", "host_bound"),
    "gelu_by_hand": ("elementwise_chain",),
    "rms_norm_by_hand": ("norm_by_hand", "elementwise_chain"),
    "layer_norm_by_hand": ("norm_by_hand", "elementwise_chain"),
    "casts": ("casts",),
    "layout_copies": ("layout_conversion",),
    "hardswish_by_hand": ("elementwise_chain",),
    "loss_by_hand": ("elementwise_chain",),
    "one_hot": ("slow_products",),
    "recomputed": ("needless_recompute",),
    "double": ("double_precision",),
    "growing_cache": ("growing_tensor",),
}
"""By the name of the pair. Any one of the rules will do."""
