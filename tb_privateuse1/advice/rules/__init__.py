"""The registry of rules, one line each, sorted by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_privateuse1.trace.registry import Registry

if TYPE_CHECKING:
    from tb_privateuse1.advice.rules.rule import Rule

__all__ = [
    "RULES",
    "rule",
]

RULES: Registry[Rule] = Registry(
    "tb_privateuse1.advice.rules",
    (
        "data_loader",
        "single_process_loader",
        "exposed_copy",
        "host_bound",
        "task_queue",
        "tiny_kernels",
        "python_overhead",
        "optimizer_loop",
        "zeroed_gradients",
        "tensor_loop",
        "filled_on_host",
        "indexing_loop",
        "product_series",
        "garbage_collection",
        "recompilation",
        "uneven_steps",
        "held_interpreter",
        "unrecorded_pauses",
        "item_sync",
        "dynamic_result",
        "blocking_copy",
        "checkpoint_writes",
        "synchronize",
        "launch_blocking",
        "blocked_call",
        "attention_math",
        "norm_by_hand",
        "rotary_by_hand",
        "gate_by_hand",
        "loss_by_hand",
        "one_hot_product",
        "growing_tensor",
        "repeated_tensor",
        "layout_conversion",
        "casts",
        "elementwise_chain",
        "slow_products",
        "half_on_host",
        "weight_reads",
        "double_precision",
        "needless_recompute",
        "recomputed_sequence",
        "partial_sort",
        "unread_rows",
        "unread_gradients",
        "unread_results",
        "dense_gradients",
        "repeated_backward",
        "repeated_work",
        "shared_inputs",
        "exposed_communication",
        "waiting_ranks",
        "small_collectives",
        "gloo_beside_device",
        "memory_capacity",
        "fragmentation",
        "memory_growth",
        "late_release",
        "device_malloc",
        "cpu_fallback",
        "device_cpu",
        "format_conversion",
        "unrolled_foreach",
        "decomposed",
        "unsteady_recording",
        "no_device_times",
        "coarse_events",
    ),
    "RULE",
)
