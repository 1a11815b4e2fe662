"""Judge a trial: runs of a program as it is against runs of it with a remedy, taken in turn.

What a run says is the mean of its steps: work in each n-th step counts. Runs are few and
independent, so the noise is Welch's, of the runs' means (``significance``). On a busy machine a run
may be judged by its quickest step instead, as runs of a baseline are (``run_noise``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.comparison.run_noise import change_of_runs
from tb_privateuse1.analysis.comparison.significance import noise, sample_steps, verdict
from tb_privateuse1.analysis.comparison.step_figures import step_figure

By = Literal["mean", "least"]
Speed = Literal["faster", "slower", "within_noise"]
Equality = Literal["equal", "differs", "not_repeated", "unknown"]
"""``not_repeated``: runs as it is differ as much among themselves; ``unknown``: nothing seen."""
Position = Literal["inside", "inside_by_noise", "below", "above"]


class TrialFigure(Struct, frozen=True):
    """A time per step without and with the remedy."""

    base_ns: float
    now_ns: float
    gain: float
    """The share of the time as it is that the remedy saves; below 0 it costs."""
    noise: float
    """Half of the interval of the gain."""
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

    Raises ValueError for fewer runs, or steps that take no time.
    """
    if min(len(base), len(now)) < 2:
        raise ValueError("a trial needs two runs of each side")
    before, after, either_way = _by_mean(base, now) if by == "mean" else _by_least(base, now)
    if before <= 0:
        raise ValueError("a trial needs steps that take time")
    said = verdict(after - before, either_way, bound=0.0)
    speeds: dict[str, Speed] = {"longer": "slower", "shorter": "faster"}
    return TrialFigure(
        before,
        after,
        gain=1 - after / before,
        noise=either_way / before,
        verdict=speeds.get(said, "within_noise"),
    )


def _by_mean(
    base: Sequence[Sequence[int]], now: Sequence[Sequence[int]]
) -> tuple[float, float, float]:
    """Return the means of the runs' means, and half the interval of their difference."""
    means = [np.array([round(float(np.mean(run))) for run in side]) for side in (base, now)]
    samples = [sample_steps(values.astype(np.int64)) for values in means]
    before, after = (float(sample.mean[0]) for sample in samples)
    found = noise(*samples)
    return before, after, 0.0 if found is None else float(found[0])


def _by_least(
    base: Sequence[Sequence[int]], now: Sequence[Sequence[int]]
) -> tuple[float, float, float]:
    """Return the means of the runs' quickest steps, and half the interval of their difference."""
    figures = [[step_figure(np.array(run, np.int64)) for run in side] for side in (base, now)]
    change = change_of_runs(figures[0], figures[1], "least")
    return change.base, change.now, change.noise


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
    if low <= gain <= high:
        position = "inside"
    elif low - either_way <= gain <= high + either_way:
        position = "inside_by_noise"
    else:
        position = "below" if gain < low else "above"
    return TrialEstimate(share, low, high, position)
