"""A rank or a recording, as views of many traces get it: with its reduced trace."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from tb_privateuse1.discovery.catalog import Span
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.memory_budget import MemoryBudget
from tb_privateuse1.trace.run_parameters import RunParameter

_T = TypeVar("_T")


class Rank(Struct, frozen=True):
    """One rank in a view that reads ``ranks``: the reduction of its trace, or a problem.

    The view declares the reduction with ``signature.reduces``. Only reductions stay in memory, so
    that few traces are open at once.
    """

    rank: int
    worker: str
    part: Any
    """None if the trace is not there or cannot be read."""
    problem: Finding | None = None


class Ranks(tuple[Rank, ...]):
    """The ranks of a run, with what views have made of them (``keep``) while memory lasts."""

    memory: MemoryBudget
    _owner: _Owner

    @classmethod
    def kept_in(cls, memory: MemoryBudget, ranks: Iterable[Rank]) -> Ranks:
        """Return ranks; a memory budget keeps what is made of them."""
        made = cls(ranks)
        made.memory, made._owner = memory, _Owner()
        return made

    def same(self, ranks: Sequence[Rank]) -> bool:
        """Return whether these are the same ranks, with the same objects as parts."""
        pairs = zip(self, ranks, strict=False)
        return len(self) == len(ranks) and all(
            a.part is b.part and (a.rank, a.worker, a.problem) == (b.rank, b.worker, b.problem)
            for a, b in pairs
        )


class _Owner:
    """An object with which goes what is made of its ranks."""


def keep(
    ranks: tuple[Rank, ...], key: Hashable, make: Callable[[], _T], weigh: Callable[[_T], int]
) -> _T:
    """Return what is made of ranks, once for each key; ``weigh`` returns its bytes.

    It is not to be changed. It may hold the parts of the ranks, which weigh by themselves.
    """
    if not isinstance(ranks, Ranks):
        return make()
    return ranks.memory.compute(ranks._owner, key, make, weigh=weigh)


class RunRecording(Struct, frozen=True):
    """A recording in a view that reads ``recordings``: the reduction of its trace, or a problem.

    The view declares the reduction with ``signature.reduces``.
    """

    run: str
    ranks: int
    """How many the run has."""
    rank: int
    span: Span
    part: Any
    """None if the trace has not been read yet, or cannot be."""
    problem: Finding | None = None
    hparams: tuple[RunParameter, ...] = ()
    """The hyperparameters that TensorBoard has of the run."""
