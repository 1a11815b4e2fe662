"""How often a planted cause is named, and how often the innocent are accused.

``python -m benchmarks.blame_accuracy FOLDER [--jobs 200] [--aside] [--seed 1]``

Each job (``blame_jobs``) has the noise of a real recording below FOLDER and one planted cause, or
none. It is named if a culprit has its kind, its ranks and its cause; any other culprit is a
false accusation. A third of the recordings, by a hash of their names, is for the last check of a
change only: ``--aside`` takes these instead of the others. ``--files N`` writes the first N jobs of
at most 16 ranks as trace files, and reads these. ``--gap`` leaves files out, or has ranks restarted
(``blame_gaps``); ``--stages F`` makes the second stage of pipelines F times as long as the first,
``--uneven S`` has experts whose loads differ (``blame_jobs.simulate``).
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from benchmarks import blame_files
from benchmarks.blame_gaps import GAPS, Gap, recorded
from benchmarks.blame_jobs import PLANTS, Planted, Simulated, simulate
from benchmarks.blame_noise import is_aside, noises
from tb_privateuse1.analysis.ranks.culprits import Culprit
from tb_privateuse1.views.distributed import Distributed, distributed
from tb_privateuse1.views.reduced_traces import Rank

EXPECTED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "host": (("rank",), ("host",)),
    "device": (("rank",), ("computation",)),
    "throttled": (("throttled",), ("computation",)),
    "node": (("node",), ("computation",)),
    "loader": (("input",), ("input",)),
    "link": (("link",), ("transfer",)),
    "missing": (("missing",), ("unknown",)),
}


def is_right(planted: Planted, culprit: Culprit) -> bool:
    """Return whether a culprit is the planted cause, in kind, ranks and cause."""
    kinds, causes = EXPECTED.get(planted.plant, ((), ()))
    same_group = planted.plant != "link" or culprit.group == planted.group
    return (
        culprit.kind in kinds
        and culprit.cause in causes
        and culprit.ranks == planted.ranks
        and same_group
    )


def is_named(planted: Planted, result: Distributed) -> bool:
    """Return whether the planted cause is named; a clock is by a note."""
    if planted.plant == "clock":
        rank = f"ranks {planted.ranks[0]}" if planted.ranks else ""
        found = [note for note in result.notes if note.code == "clock_far_off"]
        return len(found) == 1 and (
            rank + ")" in found[0].message or f"rank {planted.ranks[0]} " in found[0].message
        )
    return any(is_right(planted, one) for one in result.culprits)


def judge(
    job: Simulated, *, from_files: bool = False, gap: Gap = "none"
) -> tuple[bool, bool, Distributed]:
    """Return whether the cause is named, and whether anybody is accused falsely."""
    ranks = recorded(job, gap)
    if from_files:
        ranks = tuple(Rank(i, f"w{i}", one) for i, one in enumerate(blame_files.read_back(job)))
    result = distributed(ranks)
    named = all(is_named(planted, result) for planted in job.plants)
    return named, has_false(job, result), result


def has_false(job: Simulated, result: Distributed) -> bool:
    """Return whether anybody is accused falsely."""
    return any(not any(is_right(p, one) for p in job.plants) for one in result.culprits)


def main() -> None:
    """Print a table by planted cause."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--files", type=int, default=0)
    parser.add_argument("--gap", choices=GAPS, default="none")
    parser.add_argument("--stages", type=float, default=1.0)
    parser.add_argument("--uneven", type=float, default=0.0)
    parser.add_argument("--verbose", action="store_true", help="print each job that is wrong")
    options = parser.parse_args()
    sources = [one for one in noises(options.folder) if is_aside(one.name) == options.aside]
    print("noise:", ", ".join(one.name for one in sources))
    named: Counter[str] = Counter()
    false: Counter[str] = Counter()
    count: Counter[str] = Counter()
    by_noise: dict[str, Counter[str]] = defaultdict(Counter)
    files = 0
    for number in range(options.jobs):
        noise, plant = sources[number % len(sources)], PLANTS[number % len(PLANTS)]
        job = simulate(
            options.seed * 100_000 + number, noise, plant, options.stages, options.uneven
        )
        from_files = files < options.files and job.world <= 16
        files += from_files
        is_right_job, wrong, result = judge(job, from_files=from_files, gap=options.gap)
        right = is_right_job or plant == "nothing"
        count[plant] += 1
        named[plant] += right
        false[plant] += wrong
        by_noise[noise.name].update(jobs=1, named=int(right), false=int(wrong))
        if options.verbose and (wrong or not right):
            print(job.plants, job.layout, job.world, job.begin.shape[1] - 1, noise.name)
            for one in result.culprits:
                print("   ", one.kind, one.ranks, one.cause, one.cost_ns, one.p_value)
    print("| planted | jobs | named | false accusations |\n|---|---|---|---|")
    for plant in PLANTS:
        shown = "" if plant == "nothing" else str(named[plant])
        print(f"| {plant} | {count[plant]} | {shown} | {false[plant]} |")
    planted = options.jobs - count["nothing"]
    total = sum(named.values()) - named["nothing"]
    print(f"named {total / planted:.1%}, false {sum(false.values()) / options.jobs:.1%}")
    print(f"through files: {files}")
    for name, tally in by_noise.items():
        print(f"  {name}: {tally['jobs']} jobs, {tally['named']} right, {tally['false']} false")


if __name__ == "__main__":
    main()
