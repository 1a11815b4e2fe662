"""A rank or a recording, as views of many traces get it: with its reduced trace."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tb_privateuse1.discovery.catalog import Span
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.run_parameters import RunParameter


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
