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
    "checkpoints": ("checkpoint_writes", "uneven_steps", "blocking_copy", *PYTHON),
    "tiny_products": ("product_series", "tiny_kernels", "indexing_loop", "host_bound"),
    "gelu_by_hand": ("elementwise_chain",),
    "rms_norm_by_hand": ("norm_by_hand", "elementwise_chain"),
    "layer_norm_by_hand": ("norm_by_hand", "elementwise_chain"),
    "casts": ("casts",),
    "layout_copies": ("layout_conversion",),
    "hardswish_by_hand": ("elementwise_chain",),
    "loss_by_hand": ("loss_by_hand", "elementwise_chain"),
    "one_hot": ("one_hot_product",),
    "recomputed": ("needless_recompute",),
    "double": ("double_precision",),
    "growing_cache": ("growing_tensor",),
    "masked_loss": ("dynamic_result", "blocked_call"),
    "smoothed_loss": ("loss_by_hand", "elementwise_chain"),
    "bag_loop": ("indexing_loop", "product_series", "tiny_kernels", "host_bound"),
    "segment_one_hot": ("one_hot_product",),
    "host_metrics": ("blocking_copy", "item_sync", "exposed_copy", *PYTHON),
    "moving_average": ("tensor_loop", "optimizer_loop", "elementwise_chain", "unrolled_foreach"),
    "pickled_state": ("checkpoint_writes",),
    "attention_by_hand": ("attention_math",),
    "host_augmentation": PYTHON,
}
"""By the name of the pair. Several may have a part each: savings do not overlap."""

HELD = frozenset(
    (
        "masked_loss", "smoothed_loss", "bag_loop", "segment_one_hot", "host_metrics",
        "moving_average", "pickled_state", "attention_by_hand", "host_augmentation",
    )
)  # fmt: skip
"""Faults whose recordings nobody looked at while rules were written."""

LATER: dict[str, tuple[float, tuple[str, ...]]] = {
    "sampled_on_host": (0.13, ("blocking_copy", *PYTHON)),
    "offloaded_optimizer": (0.10, ("blocking_copy", "exposed_copy")),
    "tokenizer": (0.12, (*PYTHON, "filled_on_host")),
    "expert_loop": (0.55, ("dynamic_result", "blocked_call", "product_series", "indexing_loop")),
    "suppression_loop": (0.25, ("item_sync", "indexing_loop")),
    "average_loop": (0.22, ("tensor_loop", "optimizer_loop", "unrolled_foreach", "tiny_kernels")),
    "many_copies": (0.67, ("blocking_copy", "exposed_copy")),
    "compared_losses": (0.04, ("item_sync",)),
    "unpacked_on_thread": (0.10, ("single_process_loader", "data_loader", "python_overhead")),
    "busy_thread": (0.13, (*PYTHON, "held_interpreter")),
    "polling": (0.48, ("python_overhead", "blocked_call")),
    "attention_by_hand": (0.46, ("attention_math",)),
    "gate_by_hand": (0.33, ("gate_by_hand", "elementwise_chain")),
    "group_norm_by_hand": (0.35, ("norm_by_hand", "elementwise_chain")),
    "repeated_keys": (0.90, ("repeated_tensor", "layout_conversion", "growing_tensor")),
    "wide_weights": (0.45, ("weight_reads", "slow_products")),
    "one_sequence": (0.85, ("weight_reads", "product_series", "indexing_loop")),
    "cell_by_cell": (0.37, ("product_series", "weight_reads", "tiny_kernels")),
    "likelihood_by_hand": (0.37, ("elementwise_chain",)),
    "slow_worker": (0.50, ("data_loader",)),
    "recompiled": (0.98, ("recompilation",)),
    "single_reductions": (0.84, ("small_collectives", "exposed_communication")),
}
"""Of the faults planted when the rules were finished: the share of the step that each should cost,
as timed once, and the rules that may find it. Written down before any of them was recorded; only
`tensor_loop` and `repeated_tensor` did not exist then, and `indexing_loop` did not know models that
are called for each item."""

WORK: dict[str, tuple[float, tuple[str, ...]]] = {
    "attention_on_host": (0.5, ("attention_math",)),
    "words_as_rows": (0.6, ("one_hot_product",)),
    "history_by_cat": (0.5, ("growing_tensor",)),
    "double_features": (0.3, ("double_precision",)),
    "double_head": (0.05, ("double_precision", "casts")),
    "turned_and_back": (0.1, ("layout_conversion",)),
}
"""Of work that is larger than needed: written down before any of it was recorded or timed."""

BLIND: dict[str, tuple[float, tuple[str, ...]]] = {
    "attached_fake": (0.29, ("unread_gradients",)),
    "dense_adjacency": (0.65, ()),
    "every_score": (0.42, ("unread_rows",)),
    "padded_texts": (0.65, ()),
    "broadcast_distances": (0.66, ("elementwise_chain",)),
    "separate_adapters": (0.29, ("shared_inputs", "elementwise_chain")),
    "reordered_cache": (0.47, ()),
    "mask_in_each_layer": (0.21, ("elementwise_chain", "repeated_work")),
    "without_cache": (0.86, ("recomputed_sequence",)),
    "repeated_prompt": (0.16, ()),
    "metric_of_all": (0.29, ("elementwise_chain",)),
    "looked_up_time": (0.27, ("item_sync", "dynamic_result")),
    "logged_norms": (0.29, ("item_sync", "blocking_copy", "dynamic_result", *PYTHON)),
    "anomaly_mode": (0.40, ("anomaly_detection", "item_sync", *PYTHON)),
    "copied_model": (0.13, ()),
    "filters_in_each_step": (0.26, ("filled_on_host", "blocking_copy", "exposed_copy", *PYTHON)),
    "list_of_arrays": (0.26, PYTHON),
    "augmented_one_by_one": (0.34, PYTHON),
    "hooked_outputs": (0.18, ("blocking_copy", "exposed_copy", *PYTHON)),
    "indexed_by_lists": (0.14, ("blocking_copy", "exposed_copy", "filled_on_host", *PYTHON)),
    "table_for_each": (0.72, ("indexing_loop", "tiny_kernels", "host_bound")),
    "penalty_by_hand": (0.45, ("elementwise_chain", "tiny_kernels", "host_bound")),
    "one_environment": (
        0.82,
        (
            "item_sync", "blocking_copy", "blocked_call", "host_bound", "tiny_kernels",
            "weight_reads",
        ),
    ),
    "dense_gradients": (0.30, ("dense_gradients",)),
    "frozen_in_optimizer": (0.66, ("unread_gradients",)),
    "kept_weight_norm": (0.17, ("repeated_work",)),
    "sorted_vocabulary": (0.93, ("partial_sort",)),
    "attached_state": (0.60, ("repeated_backward",)),
    "parsed_lines": (0.63, ("single_process_loader", "data_loader", "python_overhead")),
    "workers_in_each_epoch": (0.68, ("data_loader", "python_overhead")),
    "half_on_host": (0.78, ("half_on_host",)),
    "averaged_parts": (
        0.57, ("exposed_communication", "small_collectives"),
    ),
    "uneven_shares": (0.31, ("waiting_ranks", "exposed_communication")),
}  # fmt: skip
"""The same of faults by an author who knew the list of rules, and not their code. An empty list: no
rule is documented that could rightly find the fault. The lists were empty of nine that have rules
now: `kept_weight_norm`, `attached_fake`, `every_score`, `without_cache`, `dense_gradients`,
`frozen_in_optimizer`, `sorted_vocabulary`, `attached_state` and `half_on_host`."""

BESIDE: dict[str, tuple[float, tuple[str, ...]]] = {
    "gradient_histograms": (0.25, ("side_work",)),
    "scored_each_second": (0.30, ("side_work",)),
    "cells_of_two_layers": (0.40, ("recurrent_loop",)),
    "norms_one_by_one": (0.30, ("side_work", "item_sync")),
    "copied_judge": (0.40, ("side_work",)),
    "confusion_in_python": (0.30, ("side_work", *PYTHON)),
}
"""The same of work beside the training and of loops with a state, when their rules were finished:
the shares are guesses, written down before the programs ran."""

FURTHER: dict[str, tuple[float, tuple[str, ...]]] = {
    "diagonal_of_product": (0.40, ("unread_rows",)),
    "inverse_then_product": (0.40, ("inverse_product",)),
    "backup_in_each_step": (0.15, ("side_work",)),
    "windows_by_mask": (0.60, ()),
    "inputs_with_gradients": (0.15, ("unread_gradients",)),
    "cloned_between_layers": (
        0.10,
        ("layout_conversion", "elementwise_chain", "unwritten_copies"),
    ),
}
"""The same of six kinds that no rule's texts name, when `zeroed_gradients` and the chains of
single calls were corrected: guesses from before the programs ran. The list of
`inverse_then_product` was empty; its rule came later."""

LOOPS: dict[str, tuple[float, tuple[str, ...]]] = {
    "probed_each_third": (0.20, ("side_work",)),
    "forward_for_metrics": (0.25, ("side_work", "repeated_work")),
    "softmax_before_argmax": (0.25, ("chosen_results",)),
}
"""The same of three kinds, when rounds without steps were found: guesses from before any ran."""

PARTS: dict[str, tuple[float, tuple[str, ...]]] = {
    "pooled_queries": (0.45, ("unread_rows",)),
    "padded_speech": (0.35, ("padding",)),
    "clipped_each_part": (0.20, ("repeated_clipping",)),
    "batch_by_permutation": (0.60, ("unread_rows",)),
}
"""The same of results read in part, padding and two other kinds, when rules for views, inverses and
padding were finished: guesses from before the programs ran."""

ROWS: dict[str, tuple[float, tuple[str, ...]]] = {
    "forecast_of_all": (0.35, ("unread_rows",)),
    "repeated_context": (0.30, ("equal_rows",)),
}
"""The same of rows that are followed through layers, and of another kind, when it was finished."""

ORDINARY: dict[str, tuple[float, tuple[str, ...]]] = {
    "chain_order": (0.70, ("costly_products",)),
    "categories_through_layers": (0.65, ("equal_rows",)),
    "diagonal_scaling": (0.50, ("costly_products",)),
    "rows_by_index": (0.10, ()),
    "all_experts": (0.75, ("unread_rows", "chosen_results")),
    "unfolded_convolution": (0.65, ("costly_products",)),
    "flattened_gradients": (0.15, ("layout_conversion", "unwritten_copies", "chosen_results")),
    "probabilities_before_topk": (0.15, ("chosen_results",)),
    "lists_of_texts": (
        0.30,
        ("python_overhead", "host_bound", "indexing_loop", "listed_tensors"),
    ),
    "masked_words": (0.50, ("unread_rows",)),
    "empty_prompts": (0.50, ("repeated_tensor", "equal_rows")),
    "clipped_parts": (0.25, ("repeated_clipping",)),
}
"""The same of ordinary faults of various kinds: shares as timed once, rules from before any was
asked. `costly_products`, `equal_rows`, `chosen_results`, `listed_tensors` and `repeated_clipping`
came later."""

AFTERWARDS: dict[str, tuple[float, tuple[str, ...]]] = {
    "context_beside_tokens": (0.35, ("equal_rows",)),
    "bags_by_hand": (0.35, ("costly_products",)),
    "pooled_behind_head": (0.30, ("costly_products",)),
    "covariance_times_vectors": (0.50, ("costly_products",)),
    "cosine_of_pairs": (0.50, ("elementwise_chain", "costly_products")),
    "one_branch_each": (0.45, ("chosen_results",)),
    "both_directions": (0.20, ("repeated_work",)),
    "classes_one_by_one": (0.30, ("side_work", "host_bound", "indexing_loop")),
    "full_spectrum": (0.65, ("unread_rows", "costly_products")),
    "counts_by_rows": (0.35, ("one_hot_product", "costly_products")),
}
"""The same of ten faults, when the mechanisms for the twelve above were finished: shares as timed
once or guessed. The first four are of kinds that a mechanism meant, the others of none;
`costly_products` of three of these came later."""

UNSEEN_ONE: dict[str, tuple[float, tuple[str, ...]]] = {
    "rows_through_loader": (0.25, ("single_process_loader",)),
    "padded_to_limit": (0.40, ("padding",)),
    "advantages_by_element": (0.30, ("indexing_loop",)),
    "checked_gradients": (0.25, ("tensor_loop",)),
    "validated_each_step": (0.35, ("side_work",)),
    "hardest_by_anchor": (0.45, ("indexing_loop",)),
    "balanced_in_each_layer": (0.20, ("repeated_work",)),
    "doubled_for_numpy": (0.50, ("double_precision",)),
    "served_as_trained": (0.25, ("unread_results",)),
    "averaged_by_state": (0.20, ("tensor_loop", "side_work", "elementwise_chain")),
    "losses_in_progress_bar": (0.30, ("item_sync",)),
    "tables_in_each_layer": (0.20, ("repeated_work",)),
    "optimizer_from_paper": (0.35, ("optimizer_loop",)),
    "curve_of_each_batch": (0.30, ("blocking_copy",)),
    "body_left_trainable": (0.55, ("unread_gradients",)),
    "guided_in_two_passes": (0.35, ("weight_reads",)),
}
"""The same of sixteen ordinary faults by an author who knew no rule's code: shares as guessed from
the programs, when some had been timed once. Rules: of the findings that are about the fault."""

UNSEEN_TWO: dict[str, tuple[float, tuple[str, ...]]] = {
    "weight_norm_left_on": (0.15, ("repeated_work",)),
    "windows_by_sample": (0.25, ("single_process_loader", "tensor_loop")),
    "tensors_of_lists": (0.35, ("listed_tensors",)),
    "gain_of_each_query": (0.35, ("side_work", "indexing_loop")),
    "triplets_by_anchor": (0.30, ("indexing_loop",)),
    "padded_to_max_length": (0.45, ("padding",)),
    "anomalies_looked_for": (0.30, ("anomaly_detection",)),
    "backbone_in_the_graph": (0.50, ("unread_gradients",)),
    "column_by_column": (0.20, ("indexing_loop",)),
    "guided_by_two_passes": (0.35, ("weight_reads",)),
    "schedule_beside_the_model": (0.25, ("item_sync",)),
    "validated_actions": (0.15, ("item_sync",)),
    "product_of_edges": (0.40, ("equal_rows",)),
    "neighbours_in_each_layer": (0.30, ("repeated_work",)),
    "scores_of_the_prompt": (0.25, ("unread_rows",)),
    "keys_for_each_word": (0.25, ("repeated_work",)),
}
"""Faults that people report, by an author who read no rule: shares as guessed. Rules as above,
named when the recordings were opened."""

COMMON: dict[str, tuple[float, tuple[str, ...]]] = {
    "metrics_before_backward": (0.25, ("unread_results",)),
    "watched_activations": (0.15, ("unread_results", "elementwise_chain")),
    "micro_batches": (0.70, ("split_batch",)),
    "one_hot_loss": (0.25, ("costly_products",)),
    "classes_for_each_batch": (0.85, ("repeated_work",)),
    "views_in_two_passes": (0.20, ("weight_reads", "repeated_passes")),
    "ensemble_one_by_one": (0.25, ("product_series", "indexing_loop")),
    "text_split_in_step": (0.40, ("python_overhead", "listed_tensors")),
    "pictures_moved_in_numpy": (0.40, ("python_overhead",)),
    "neighbours_drawn_in_python": (0.65, ("python_overhead", "listed_tensors")),
    "overlap_by_sample_and_class": (0.40, ("indexing_loop",)),
    "three_texts_apart": (0.35, ("repeated_passes",)),
    "worlds_asked_one_by_one": (0.90, ("repeated_passes",)),
    "scored_by_a_second_pass": (0.35, ("repeated_passes",)),
    "tested_in_batches_of_one": (0.90, ("repeated_passes", "single_process_loader")),
}
"""Faults that are common by guides, forums and issues, on a device and on a host. They were at hand
while rules were written; ``classes_for_each_batch`` and ``ensemble_one_by_one`` had none."""

UNSEEN_THREE: dict[str, tuple[str, ...]] = {
    "rows_one_by_one": ("single_process_loader",),
    "states_from_a_list": ("listed_tensors",),
    "debugging_left_on": ("anomaly_detection",),
    "filters_made_each_time": ("repeated_work",),
    "overlaps_by_class": ("indexing_loop",),
    "painter_under_the_judge": ("unread_gradients",),
    "logits_of_the_prompt": ("unread_rows",),
    "padded_to_the_maximum": ("padding",),
    "gradient_of_the_whole_table": ("dense_gradients",),
    "links_as_a_full_matrix": ("costly_products",),
    "loss_read_at_each_batch": ("item_sync",),
    "advantages_on_the_device": ("indexing_loop", "recurrent_loop"),
    "mask_sent_at_each_layer": ("blocking_copy", "repeated_work"),
    "text_read_at_each_time": ("repeated_work",),
    "hidden_values_picked": ("dynamic_result", "blocked_call"),
    "passages_one_by_one": ("indexing_loop", "repeated_passes"),
}
"""The same of a third author, who guessed no shares."""

UNSEEN_FOUR: dict[str, tuple[str, ...]] = {
    "prices_of_houses": ("single_process_loader",),
    "game_remembered": ("listed_tensors",),
    "speakers_of_crops": ("single_process_loader",),
    "streets_evaluated": ("costly_products",),
    "reviews_logged": ("side_work",),
    "films_ranked": ("dense_gradients",),
    "feelings_of_voices": ("unread_gradients",),
    "traffic_forecast": ("repeated_work",),
    "fields_simulated": ("double_precision",),
    "story_continued": ("unread_rows",),
    "walker_updated": ("indexing_loop", "recurrent_loop"),
    "speech_to_text": ("item_sync",),
    "topics_learned": ("optimizer_loop",),
    "pictures_sampled": ("item_sync",),
    "pictures_copied": ("blocking_copy", "blocked_call"),
    "songs_recommended": ("repeated_tensor",),
    "mail_sorted": ("single_process_loader", "python_overhead"),
    "leaves_graded": ("single_process_loader",),
    "words_embedded": ("indexing_loop", "python_overhead"),
    "x_rays_scored": ("side_work", "repeated_work"),
    "machines_watched": ("side_work", "python_overhead"),
    "carts_balanced": ("repeated_passes",),
    "molecules_placed": ("single_process_loader", "repeated_work"),
    "names_tagged": ("indexing_loop", "tensor_loop"),
    "earthquakes_picked": ("outdone_calls",),
    "hotels_booked": ("indexing_loop", "tensor_loop"),
    "verses_written": ("item_sync", "indexing_loop", "blocked_call"),
    "cells_matched": ("item_sync",),
    "clouds_denoised": ("blocking_copy", "filled_on_host"),
    "recipes_understood": ("dynamic_result", "item_sync"),
    "reports_summarized": ("casts", "item_sync"),
    "harvest_forecast": ("tensor_loop", "elementwise_chain"),
}
"""The same of a fourth one."""

EXPECTED = (
    LATER | BLIND | BESIDE | FURTHER | WORK | LOOPS | PARTS | ROWS | ORDINARY | AFTERWARDS
    | UNSEEN_ONE | UNSEEN_TWO | COMMON
)  # fmt: skip

RULES_OF |= {name: rules for name, (_, rules) in EXPECTED.items()} | UNSEEN_THREE | UNSEEN_FOUR

FIRST: dict[str, tuple[str, ...]] = {
    "norm_without_kernel": ("decomposed",),
    "blocking_launches": ("launch_blocking",),
}
"""Of the faults planted for rules that no program had shown before."""

RULES_OF |= FIRST

NEEDLESS: dict[str, tuple[str, ...]] = {
    "position_table": ("repeated_work",),
    "two_towers": ("unread_gradients",),
    "side_decoder": ("unread_results",),
    "normalized_catalog": ("repeated_work",),
    "cast_in_each_call": ("repeated_work",),
    "biases_by_distance": ("repeated_work",),
    "uploaded_table": ("repeated_work", "blocking_copy", "exposed_copy"),
    "groups_of_two": ("outdone_calls",),
    "operator_in_jumps": ("outdone_calls", "own_operators"),
    "operator_by_columns": ("own_operators",),
    "product_in_jumps": ("outdone_calls", "layout_conversion"),
}
"""Of work that repeats itself or that nobody reads, written down before the advice was asked."""

RULES_OF |= NEEDLESS
