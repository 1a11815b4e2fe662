"""Find the parameters that differ between two runs: hyperparameters, metadata, environment."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tb_privateuse1.trace.run_parameters import ParameterSource, RunParameter

_SOURCES: tuple[ParameterSource, ...] = ("hparams", "metadata", "environment")


class DiffParameter(Struct, frozen=True):
    """A parameter with another value in each run; null where a run has none of the name."""

    name: str
    source: ParameterSource
    base: str | None
    now: str | None


def different_parameters(
    base: Sequence[RunParameter], now: Sequence[RunParameter]
) -> tuple[DiffParameter, ...]:
    """Return what differs, by source, then in the order of the new run.

    A number is the same however it is written.
    """
    found = []
    for source in _SOURCES:
        old, new = ({one.name: one for one in side if one.source == source} for side in (base, now))
        for name in dict.fromkeys((*new, *old)):
            pair = old.get(name), new.get(name)
            if not _are_same(*pair):
                texts = (None if one is None else one.value for one in pair)
                found.append(DiffParameter(name, source, *texts))
    return tuple(found)


def _are_same(base: RunParameter | None, now: RunParameter | None) -> bool:
    if base is None or now is None:
        return base is now
    if base.number is not None:
        return base.number == now.number
    return base.value == now.value
