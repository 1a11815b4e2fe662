"""Data loaders that work in processes of their own, or in more of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, device_type, wrap

_FIRST = 4
"""Workers of a loader that had none: what the rule single_process_loader advises to begin with.
They may be more than the cores: workers that wait for files take none."""


def _apply(effects: Effects) -> None:
    def made(init: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, dataset: Any, *args: Any, **options: Any) -> None:
            had = options.get("num_workers", 0)
            more = max(2 * had, _FIRST)
            # Each worker would yield all of a dataset that is a stream. num_workers may also be
            # among the arguments by position: nobody can tell then which is which here.
            if not isinstance(dataset, IterableDataset) and len(args) < _BEFORE:
                options.update(num_workers=more, persistent_workers=True)
                if device_type() != "cpu":
                    options["pin_memory"] = True
                effects.note(f"DataLoader with {more} workers instead of {had}")
            init(self, dataset, *args, **options)

        return call

    wrap(DataLoader, "__init__", made)


_BEFORE = 5
"""Arguments by position before num_workers: batch_size, shuffle, sampler, batch_sampler."""

REMEDY = Remedy(
    name="loader_workers",
    what="data loaders get 4 workers, or twice as many, that persist and pin memory for a device",
    applies_to="a torch DataLoader of a dataset with an index",
    apply=_apply,
)
