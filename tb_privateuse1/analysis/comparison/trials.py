"""Judge a trial: runs of a program as it is against runs of it with a remedy, taken in turn.

What a run says is the mean of its steps: work in each n-th step counts. On a busy machine a run may
be judged by its quickest step instead, as runs of a baseline are (``run_noise``).

Runs differ more than their steps do, and a machine that becomes busy slows down all that run then,
by a factor. So the noise is that of pairs: Student's interval of the mean logarithm of the ratio
within pairs of neighbors. Every second pair is the other way round, so that a drift does not favor
a side, but counts as noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.comparison.significance import verdict
from tb_privateuse1.trace.statistics import ERROR_RATE, student_t

By = Literal["mean", "least"]
Speed = Literal["faster", "slower", "within_noise"]
Equality = Literal["equal", "differs", "not_repeated", "unknown"]
"""``not_repeated``: runs as it is differ as much among themselves; ``unknown``: nothing seen."""
Position = Literal["inside", "inside_by_noise", "below", "above", "unclear"]
"""``unclear``: the noise allows no gain as well as one in the interval."""


class TrialFigure(Struct, frozen=True):
    """A time per step without and with the remedy."""

    base_ns: float
    now_ns: float
    gain: float
    """The share of the time as it is that the remedy saves; below 0 it costs."""
    noise: float
    """How much less the gain may be; a greater one is less uncertain."""
    verdict: Speed


class TrialResults(Struct, frozen=True):
    """The comparison of what the steps computed."""

    verdict: Equality
    of: Literal["losses", "outputs"] | None
    difference: float | None
    """The largest difference of the arms' means, as a share of the mean size."""
    spread: float | None
    """The largest difference among the runs as it is, as a share of the mean size."""
    tolerance: float


class TrialEstimate(Struct, frozen=True):
    """The saving by the advice, as shares of a step, and the place of the measured one."""

    share: float
    """Of a step, 0 to 1; so are the limits."""
    low: float | None
    high: float | None
    position: Position | None
    """Where the measured gain lies; None without an interval."""


def figure(
    base: Sequence[Sequence[int]], now: Sequence[Sequence[int]], by: By = "mean"
) -> TrialFigure:
    """Compare two runs or more of each side, each the times of its steps in ns.

    The n-th runs of both sides are a pair: one ran directly after the other. Raises ValueError for
    fewer runs, or steps that take no time.
    """
    pairs = min(len(base), len(now))
    if pairs < 2:
        raise ValueError("a trial needs two runs of each side")
    before, after = (np.array([_run_ns(run, by) for run in side[:pairs]]) for side in (base, now))
    if min(before.min(), after.min()) <= 0:
        raise ValueError("a trial needs steps that take time")
    change = np.log(after / before)
    error = float(student_t(ERROR_RATE, pairs - 1)) * change.std(ddof=1) / math.sqrt(pairs)
    base_ns, now_ns = (math.exp(np.log(side).mean()) for side in (before, after))
    either_way = now_ns * math.expm1(error)
    said = verdict(now_ns - base_ns, either_way, bound=0.0)
    speeds: dict[str, Speed] = {"longer": "slower", "shorter": "faster"}
    return TrialFigure(
        base_ns,
        now_ns,
        gain=1 - now_ns / base_ns,
        noise=either_way / base_ns,
        verdict=speeds.get(said, "within_noise"),
    )


def _run_ns(run: Sequence[int], by: By) -> float:
    return float(np.mean(run)) if by == "mean" else float(min(run))


def results(
    base: Sequence[Sequence[float] | None],
    now: Sequence[Sequence[float] | None],
    of: Literal["losses", "outputs"],
    tolerance: float,
) -> TrialResults:
    """Compare what the runs computed, in the same order; a run that shows nothing is None."""
    values = [[run for run in side if run is not None] for side in (base, now)]
    lengths = {len(run) for side in values for run in side}
    if not (values[0] and values[1]) or len(lengths) != 1 or lengths == {0}:
        return TrialResults("unknown", None, None, None, tolerance)
    before, after = (np.array(side, np.float64) for side in values)
    scale = float(np.abs(before).mean())
    spread = _share(np.abs(before - before[0]).max(), scale)
    difference = _share(np.abs(after.mean(axis=0) - before.mean(axis=0)).max(), scale)
    said: Equality = "equal" if difference <= tolerance else "differs"
    if spread > tolerance and difference <= spread:
        said = "not_repeated"
    return TrialResults(said, of, difference, spread, tolerance)


def _share(size: float, scale: float) -> float:
    """Return a size as a share; a result that is no number differs by all of it."""
    if not np.isfinite(size) or not np.isfinite(scale):
        return 1.0
    return float(size) / scale if scale else float(size > 0)


def estimate(
    share: float, low: float | None, high: float | None, measured: TrialFigure
) -> TrialEstimate:
    """Return the advice's estimate with the place of the measured gain in its interval."""
    if low is None or high is None:
        return TrialEstimate(share, low, high, None)
    gain, either_way = measured.gain, measured.noise
    position: Position
    least, most = gain - either_way, gain + either_way
    if least <= 0 < low <= most:
        position = "unclear"
    elif low <= gain <= high:
        position = "inside"
    elif low <= most and least <= high:
        position = "inside_by_noise"
    else:
        position = "below" if gain < low else "above"
    return TrialEstimate(share, low, high, position)
