"""A run of very many ranks, read by a real Dask cluster that loses a worker and its scheduler.

``python -m benchmarks.cluster_ranks [--ranks 1024] [--steps 3] [--run FOLDER | --planted FOLDER]``

The run is that of ``many_ranks``, or ``--run``; or a generated one with five planted causes
(``blame_jobs.simulate_several``) and the noise of the first recording below ``--planted``, whose
names in the answer are counted. A scheduler and two workers read it into a cache. With
a quarter of the ranks read, a worker and its nanny are killed; with half of them, the scheduler and
all workers with it. Both are started again. The answer must have every rank and equal the local
engine's, to the byte. It also prints the notes of progress meanwhile.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import blame_files, many_ranks
from benchmarks.blame_accuracy import EXPECTED
from benchmarks.blame_jobs import Simulated, simulate_several
from benchmarks.blame_noise import Noise, noises
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.engines import select_engine
from tb_privateuse1.storage.jobs import Pending
from tb_privateuse1.storage.store import Store
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection
from tests.support import dask_cluster
from tests.support.dask_cluster import Cluster

WORKERS = 2
_LOOK_S = 0.3


@dataclass
class Reading:
    """What a caller sees until the answer is there."""

    answer: bytes = b""
    seconds: float = 0.0
    progress: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    """The notes of progress, in the order of their first appearance."""


def ask(store: Store, log: Path, reading: Reading) -> Iterator[float]:
    """Ask for all ranks as a page does; yields the share that is read until the answer is there."""
    reader = Reader(store, catalog.scan(str(log), READERS))
    began = time.monotonic()
    while True:
        deadline_s = time.monotonic() + _LOOK_S
        request = Request(VIEWS["distributed"], Selection("run"), deadline_s=deadline_s)
        try:
            reading.answer = encode(reader.run(request))
        except Pending as pending:
            reading.progress += 1
            if pending.progress.note:
                reading.notes[pending.progress.note] = None
            yield pending.progress.traces_done / max(pending.progress.traces, 1)
        else:
            reading.seconds = time.monotonic() - began
            return


def lose_worker(cluster: Cluster) -> None:
    """Kill a worker with its nanny, and start another one."""
    dask_cluster.kill(cluster.workers.pop())
    cluster.start_worker()


def lose_scheduler(cluster: Cluster) -> None:
    """Kill the scheduler and all workers, and start others."""
    cluster.kill_scheduler()
    cluster.start_scheduler()
    for _ in range(WORKERS):
        cluster.start_worker()


LOSSES = {
    0.25: ("a worker with its nanny", lose_worker),
    0.5: ("the scheduler with all workers", lose_scheduler),
}
"""What is killed, by the share of the ranks that are read then."""


def by_cluster(log: Path, folder: Path) -> tuple[Reading, list[str]]:
    """Read on a cluster that loses its parts; returns what was killed, too."""
    reading, due, done = Reading(), sorted(LOSSES), []
    with dask_cluster.cluster(folder / "dask") as cluster, ThreadPoolExecutor(1) as pool:
        for _ in range(WORKERS):
            cluster.start_worker()
        store = Store(cache_dir=folder / "cluster", engine=select_engine(cluster.engine))
        for share in ask(store, log, reading):
            if due and share >= due[0]:
                done.append(pool.submit(LOSSES[due.pop(0)][1], cluster))
        for one in done:
            one.result()
        store.close()
    lost = [name for share, (name, _) in sorted(LOSSES.items()) if share not in due]
    return reading, lost


def by_this_machine(log: Path, folder: Path) -> Reading:
    """Read with the local engine."""
    reading, store = Reading(), Store(WORKERS, folder / "local")
    for _ in ask(store, log, reading):
        pass
    store.close()
    return reading


def plant(folder: Path, noise: Noise, ranks: int, steps: int) -> Simulated:
    """Write a run with planted causes."""
    job = simulate_several(1, noise, ranks, steps)
    folder.mkdir()
    for _ in blame_files.write(job, folder):
        pass
    return job


def tell_planted(job: Simulated, answer: bytes) -> None:
    """Print which planted causes the answer names, and what else it does."""
    content = json.loads(answer)
    named = {(one["kind"], tuple(one["ranks"])) for one in content["culprits"]}
    wanted = {
        (kind, one.ranks) for one in job.plants for kind in EXPECTED.get(one.plant, ((), ()))[0]
    }
    (far,) = (ranks for one in job.plants if one.plant == "clock" for ranks in one.ranks)
    clocks = [str(one["message"]) for one in content["notes"] if one["code"] == "clock_far_off"]
    print(f"named: {sorted(kind for kind, _ in wanted & named)}; not: {sorted(wanted - named)}; "
          f"else: {sorted(named - wanted)}")  # fmt: skip
    print(f"clock of rank {far} is off: {clocks}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--run", type=Path, help="a folder of traces instead")
    parser.add_argument("--planted", type=Path, help="plant causes in the noise of recordings here")
    options = parser.parse_args()
    job = None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log").mkdir()
        if options.run:
            (folder / "log" / "run").symlink_to(options.run.resolve())
        elif options.planted:
            noise = next(iter(noises(options.planted)))
            job = plant(folder / "log" / "run", noise, options.ranks, options.steps)
        else:
            many_ranks.make(folder / "log" / "run", options.ranks, options.steps)
        there, lost = by_cluster(folder / "log", folder)
        here = by_this_machine(folder / "log", folder)
    print(f"killed meanwhile: {', '.join(lost)}")
    print(f"notes meanwhile: {'; '.join(there.notes)}")
    print(
        f"{len(there.answer):,} bytes, equal to the local engine's: {there.answer == here.answer}"
    )
    if job is not None:
        tell_planted(job, there.answer)
    print(f"cluster {there.seconds:.0f} s, {there.progress} answers with progress; "
          f"local {here.seconds:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
