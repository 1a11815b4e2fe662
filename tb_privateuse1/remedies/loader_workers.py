"""Data loaders that work in processes of their own, or in more of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from tb_privateuse1.remedies.remedy import Effects, Remedy, device_type, wrap

_MOST = 4
"""Workers of a loader that had none: what the rule single_process_loader advises to begin with."""


def _apply(effects: Effects) -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()

    def made(init: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, dataset: Any, *args: Any, **options: Any) -> None:
            had = options.get("num_workers", 0)
            most = min(max(2 * had, _MOST), max(cores or 1, 1))
            # Each worker would yield all of a dataset that is a stream. num_workers may also be
            # among the arguments by position: nobody can tell then which is which here.
            if not isinstance(dataset, IterableDataset) and len(args) < _BEFORE and most > had:
                options.update(num_workers=most, persistent_workers=True)
                if device_type() != "cpu":
                    options["pin_memory"] = True
                effects.note(f"DataLoader with {most} workers instead of {had}")
            init(self, dataset, *args, **options)

        return call

    wrap(DataLoader, "__init__", made)


_BEFORE = 5
"""Arguments by position before num_workers: batch_size, shuffle, sampler, batch_sampler."""

REMEDY = Remedy(
    name="loader_workers",
    what="data loaders get workers, up to a core each, that persist and pin memory for a device",
    applies_to="a torch DataLoader of a dataset with an index, with fewer workers than cores",
    apply=_apply,
)
