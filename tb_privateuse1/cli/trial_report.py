"""Report a trial: as a Struct, as text, and as an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from tb_privateuse1.advice.engine import AdviceRow
from tb_privateuse1.analysis.comparison.trials import (
    By,
    TrialEstimate,
    TrialFigure,
    TrialResults,
    estimate,
    figure,
    results,
)
from tb_privateuse1.cli.trial_runs import Arm, RemedyText, RunReport
from tb_privateuse1.i18n.units import plain_text, with_unit

Clock = Literal["wall", "cpu"]
Verdict = Literal["faster", "slower", "within_noise", "results_differ", "not_applied"]
"""``results_differ``: whatever the time is, the program computes something else."""


class Trial(Struct, frozen=True):
    """A remedy that was tried on a program."""

    finding: str
    remedy: str
    what: str
    """What the remedy does."""
    verdict: Verdict
    reason: str | None
    """Why nothing was applied; null where it was."""
    applied: Mapping[str, int]
    """What it changed in a run, with how often: warm-up included."""
    clock: Clock
    """Whose figure the verdict is by."""
    by: By
    """Whether a run is judged by the mean of its steps or by the quickest one."""
    device: str
    steps_by: str | None
    """The class of the optimizer or module whose calls are steps."""
    runs: int
    steps: int
    """Of a run."""
    warmup: int
    wall: TrialFigure | None
    """Null without two runs of each arm; so is ``cpu``."""
    cpu: TrialFigure | None
    """By the CPU time of the program's process, without its workers."""
    results: TrialResults | None
    estimate: TrialEstimate | None
    """Null without a recording, or where the advice knows no saving."""
    is_wider: bool
    """The remedy changes more than the finding is about."""


def trial(
    finding: str,
    remedy: str,
    found: Mapping[Arm, Sequence[RunReport]],
    clock: Clock,
    by: By,
    row: AdviceRow | None,
) -> Trial:
    """Judge the runs; ``row`` is the finding in a recording."""
    base, now = found["as it is"], found["with the remedy"]
    first = base[0]
    about = first.remedy
    reason = _reason(about, base, now)
    wall = cpu = None
    seen = None
    if reason is None:
        wall = figure([run.wall_ns for run in base], [run.wall_ns for run in now], by)
        cpu = figure([run.cpu_ns for run in base], [run.cpu_ns for run in now], by)
        seen = _results(base, now, about.tolerance)
    judged = {"wall": wall, "cpu": cpu}[clock]
    return Trial(
        finding=finding,
        remedy=remedy,
        what=about.what,
        verdict=_verdict(judged, seen),
        reason=reason,
        applied=now[0].applied if now else {},
        clock=clock,
        by=by,
        device=first.device,
        steps_by=first.clock,
        runs=len(now),
        steps=len(first.wall_ns),
        warmup=first.warmup,
        wall=wall,
        cpu=cpu,
        results=seen,
        estimate=None if row is None or judged is None else _estimate(row, judged),
        is_wider=about.is_wider,
    )


def _reason(about: RemedyText, base: Sequence[RunReport], now: Sequence[RunReport]) -> str | None:
    if any(run.calls_backward for run in base) and not about.keeps_backward:
        return f"the program calls backward(). It is for {about.applies_to}"
    if any(not run.applied for run in now):
        return f"the program has nothing that it changes. It is for {about.applies_to}"
    return None


def _results(base: Sequence[RunReport], now: Sequence[RunReport], tolerance: float) -> TrialResults:
    """Compare losses where all runs have them, else the last outputs."""
    if all(run.losses for run in (*base, *now)):
        return results(
            [run.losses for run in base], [run.losses for run in now], "losses", tolerance
        )
    return results(
        [run.outputs for run in base], [run.outputs for run in now], "outputs", tolerance
    )


def _verdict(judged: TrialFigure | None, seen: TrialResults | None) -> Verdict:
    if judged is None or seen is None:
        return "not_applied"
    return "results_differ" if seen.verdict == "differs" else judged.verdict


def _estimate(row: AdviceRow, judged: TrialFigure) -> TrialEstimate | None:
    if row.saving_share is None:
        return None
    return estimate(row.saving_share, row.saving_low_share, row.saving_high_share, judged)


def exit_code(found: Trial) -> int:
    """Return 0 if the remedy gains time and the results are not known to differ, else 1."""
    return int(found.verdict != "faster")


def text(found: Trial) -> str:
    """Return the trial in a few lines."""
    return "".join(f"{plain_text(line)}\n" for line in _lines(found))


def _lines(found: Trial) -> Iterator[str]:
    yield f"{found.finding}: {found.remedy}: {found.what}"
    if found.reason is not None:
        yield f"Not applied: {found.reason}. No gain is claimed."
        return
    applied = ", ".join(f"{what} ({count:,})" for what, count in found.applied.items())
    yield f"Applied:   {applied}"
    step = f"steps by {found.steps_by}"
    step += ", the quickest of each run" if found.by == "least" else ""
    yield f"Runs:      {found.runs} of each arm in turn, {found.steps} steps each behind " + (
        f"{found.warmup}, {step}, on {found.device}"
    )
    for name, one in (("wall", found.wall), ("cpu", found.cpu)):
        if one is not None:
            mark = " (the verdict's)" if name == found.clock else ""
            yield f"{_CLOCKS[name]} {_figure(one)}{mark}"
    judged = found.wall if found.clock == "wall" else found.cpu
    if found.estimate is not None and judged is not None:
        yield f"Estimate:  {_estimated(found.estimate, judged)}"
        if found.is_wider:
            yield "           The remedy changes more than the finding is about."
    if found.results is not None:
        yield f"Results:   {_compared(found.results)}"
    noisy = judged is not None and judged.noise > _NOISY
    unclear = noisy and found.verdict == "within_noise"
    yield f"Verdict:   {_NO_VERDICT if unclear else _VERDICTS[found.verdict]}"
    if noisy:
        yield f"           {_NOISE_HINT}"


_NOISY = 0.1
"""Noise beyond which a gain that is worth a day's work (``advice.engine.HIGH``) cannot be seen."""
_NO_VERDICT = "none: the runs differ by more than a gain that is worth a day's work"
_NOISE_HINT = (
    "Runs differ much: give more --runs or a quiet machine. Where the program shares its host, "
    "--clock cpu --by least leaves most of the others' time out."
)
_CLOCKS = {"wall": "Time:     ", "cpu": "CPU time: "}
_VERDICTS: Mapping[Verdict, str] = {
    "faster": "it gains",
    "slower": "it costs time",
    "within_noise": "no gain beyond the noise between runs",
    "results_differ": "the program computes something else with it",
    "not_applied": "nothing was applied",
}
_POSITIONS = {
    "inside": "inside",
    "inside_by_noise": "outside by less than the noise",
    "below": "below",
    "above": "above",
    "unclear": "no verdict, no gain is as likely",
    None: "no interval is stated",
}


def _figure(one: TrialFigure) -> str:
    before, after = (with_unit("step_ns", round(ns)) for ns in (one.base_ns, one.now_ns))
    return f"{before} a step, {after} with it: {_gain(one)}"


def _gain(one: TrialFigure) -> str:
    return f"{100 * one.gain:.1f} % ± {100 * one.noise:.1f}"


def _estimated(one: TrialEstimate, judged: TrialFigure) -> str:
    interval = ""
    if one.low is not None and one.high is not None:
        interval = f" ({100 * one.low:.1f} to {100 * one.high:.1f})"
    place = _POSITIONS[one.position]
    return f"{100 * one.share:.1f} %{interval}, measured {_gain(judged)}: {place}"


def _compared(one: TrialResults) -> str:
    if one.difference is None or one.spread is None:
        return "neither losses nor outputs were seen, so nobody knows whether they are equal"
    size = f"{one.of} differ by {100 * one.difference:.2g} % at most"
    limit = f"the remedy may differ by {100 * one.tolerance:g} %"
    if one.verdict == "equal":
        return f"equal: {size}; {limit}"
    if one.verdict == "not_repeated":
        return f"unknown: {size}, but runs as it is by {100 * one.spread:.2g} %: seed the program"
    return f"not equal: {size}; {limit}"
