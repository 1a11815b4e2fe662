"""Count false alarms and caught slow-downs: ``python -m benchmarks.gate.accuracy FOLDER``.

``FOLDER`` has the recordings of ``benchmarks.gate.record``: of each program ``base``, and what is
compared with it. Then the same with runs whose steps are drawn from those of the recorded ones.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from tb_privateuse1 import api
from tb_privateuse1.analysis.comparison.baseline import summarize_runs
from tb_privateuse1.analysis.comparison.baseline_check import Check, check_workload
from tb_privateuse1.analysis.comparison.run_figures import RunFigures, run_figures, steady_steps
from tb_privateuse1.analysis.comparison.step_figures import step_figure
from tb_privateuse1.trace.table import I64

PLANTED = {"new0": 0.0, "loaded": 0.0, "new3": 0.03, "new10": 0.1, "loaded10": 0.1, "new30": 0.3}
DRAWS = 200
_TIMES = ("step", "device")


@dataclass(frozen=True)
class Run:
    """The figures of a recording, and the duration of each steady step."""

    figures: RunFigures
    steps_ns: I64


def read_runs(folder: Path) -> Iterator[Run]:
    """Yield the runs of one kind of a program."""
    for path in sorted(folder.iterdir()):
        trace = api.open_log(path).trace()
        rows = steady_steps(trace)
        yield Run(run_figures(trace), (trace.steps.end_ns - trace.steps.start_ns)[rows])


def check(base: Sequence[RunFigures], now: Sequence[RunFigures]) -> Check:
    """Return the check of runs with the default limits."""
    workload = summarize_runs(base)
    return check_workload("w", workload, summarize_runs(now, also=workload.operators), {})


def outcome(found: Check) -> str:
    """Return what a check says of the times of the step."""
    times = [one for one in found.metrics if one.name in _TIMES]
    if any(one.verdict == "slower" for one in times):
        return "slower"
    step = next(one for one in times if one.name == "step")
    return "cannot tell" if step.verdict == "cannot_tell" else "passed"


def drawn(runs: Sequence[Run], count: int, random: np.random.Generator) -> list[RunFigures]:
    """Return runs whose steps are drawn from those of a recorded one each."""
    found = []
    for number in random.choice(len(runs), count):
        run = runs[number]
        steps = random.choice(run.steps_ns, len(run.steps_ns))
        step = replace(run.figures.metrics["step"], figure=step_figure(steps))
        found.append(replace(run.figures, metrics={**run.figures.metrics, "step": step}))
    return found


def main() -> None:
    """Print both tables in Markdown."""
    programs: dict[str, dict[str, list[Run]]] = defaultdict(dict)
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        program, _, kind = folder.name.rpartition("-")
        programs[program][kind] = list(read_runs(folder))
    print("| program | compared | step, ms | change | ± | verdicts |")
    print("|---|---|---:|---:|---:|---|")
    for program, kinds in programs.items():
        for kind in (kind for kind in PLANTED if kind in kinds):
            base, now = ([run.figures for run in kinds[each]] for each in ("base", kind))
            found = check(base, now)
            step = next(one for one in found.metrics if one.name == "step")
            times = ", ".join(
                f"{one.name} {one.verdict.replace('_', ' ')}"
                for one in found.metrics
                if one.name in _TIMES
            )
            before, after, share = step.base or 0, step.now or 0, step.change_share or 0
            noise = 100 * (step.noise or 0) / before
            cells = f"{before / 1e6:.2f} → {after / 1e6:.2f} | {share:+.1%} | {noise:.1f} %"
            print(f"| {program} | {kind} | {cells} | {times} |")
    print("\n| planted | drawn pairs | slower | cannot tell | passed |\n|---|---:|---:|---:|---:|")
    for kind, counted in resampled(programs).items():
        cells = " | ".join(str(counted[one]) for one in ("slower", "cannot tell", "passed"))
        print(f"| {kind} | {counted.total()} | {cells} |")


def resampled(programs: Mapping[str, Mapping[str, list[Run]]]) -> dict[str, Counter[str]]:
    """Return the outcomes of drawn pairs by program and kind; 0 are two draws of the base."""
    random = np.random.default_rng(0)
    found: dict[str, Counter[str]] = {}
    for program, kinds in programs.items():
        for kind in ("base", *PLANTED):
            if kind not in kinds or kind == "loaded":
                continue
            draws = DRAWS // len(programs)
            found[f"{program} {kind}"] = Counter(
                outcome(check(drawn(kinds["base"], 5, random), drawn(kinds[kind], 3, random)))
                for _ in range(draws)
            )
    return found


if __name__ == "__main__":
    main()
