"""Readers, a server, workers and a scheduler are killed at odd times while many ranks are read.

Nothing is lost or wrong, each loss is said, and what was stored is not read again.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchmarks import many_ranks
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.engines import select_engine
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.server.storage.test_store import until
from tests.support.repeats import LONG, repeats
from tests.support.same import values

pytestmark = pytest.mark.long

RANKS = 64 if LONG else 8
SAID = {"reader_died", "cluster_lost"}
"""Errors of a rank whose reader was killed."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of many ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    many_ranks.make(folder / "run", ranks=RANKS, steps=2)
    return folder


@pytest.fixture(scope="module")
def expected(log: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What a quiet read gives of each rank."""
    quiet = Store(0, tmp_path_factory.mktemp("quiet"))
    return [values(quiet.part(files)) for files in ranks(log)]


def ranks(log: Path) -> list[TraceFiles]:
    return list(catalog.scan(str(log), READERS).files.values())


class Clock:
    """Passes the minute after which a failure is tried again, when the test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize("seed", range(repeats(40, 20)))
def test_killed_readers_cost_their_ranks_only(
    seed: int, log: Path, expected: list[Any], tmp_path: Path
) -> None:
    rng, clock, heard = random.Random(seed), Clock(), [0]
    fatal = set(rng.sample(range(3 * RANKS), RANKS // 2))

    def kill(files: TraceFiles, _: object) -> None:
        heard[0] += 1
        if heard[0] in fatal:
            for job in made._jobs:
                if job.files == files and job.process:
                    job.process.kill()

    made = Store(2, tmp_path, on_progress=kill, clock=clock)
    found: list[Any] = [None] * RANKS
    codes = []
    for _ in range(3):
        for n, files in enumerate(ranks(log)):
            if found[n] is None:
                try:
                    found[n] = values(made.part(files))
                except TraceError as error:
                    codes.append(error.code)
        clock.now_s += 100.0
        fatal.clear()
    made.close()
    assert found == expected
    assert set(codes) <= SAID
    assert codes, "some reader was killed"


@pytest.mark.parametrize("seed", range(repeats(20, 10)))
def test_a_killed_server_goes_on_where_it_was(
    seed: int, log: Path, expected: list[Any], tmp_path: Path
) -> None:
    rng, folder = random.Random(seed), tmp_path / "cache"
    environment = {**os.environ, "TB_PRIVATEUSE1_CACHE": str(folder)}
    command = [sys.executable, "-m", "tb_privateuse1.cli", "ingest", str(log)]
    enough = rng.randrange(1, RANKS)
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as server:
        until(lambda: len(list(folder.glob("*.arrow"))) >= enough or server.poll() is not None)
        server.send_signal(signal.SIGKILL)
    before = {path: path.stat().st_ino for path in folder.glob("*.arrow")}
    made = Store(2, folder)
    found = [values(made.part(files)) for files in ranks(log)]
    made.close()
    assert found == expected
    assert {path: path.stat().st_ino for path in before} == before, "they are not read again"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    """A scheduler with two workers, for one test."""
    pytest.importorskip("distributed")
    from tests.support.dask_cluster import cluster

    with cluster(tmp_path / "dask") as made:
        for _ in range(2):
            made.start_worker()
        yield made


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_a_killed_worker_and_a_killed_scheduler_lose_no_rank(
    seed: int, cluster: Any, log: Path, expected: list[Any], tmp_path: Path
) -> None:
    from tests.support.dask_cluster import kill

    rng, folder = random.Random(seed), tmp_path / "cache"
    made = Store(cache_dir=folder, engine=select_engine(cluster.engine))

    def stored() -> int:
        return len(list(folder.glob("*.arrow"))) if folder.is_dir() else 0

    first, second = sorted(rng.sample(range(1, RANKS), 2))
    with ThreadPoolExecutor(RANKS) as pool:
        asked = [pool.submit(made.part, files) for files in ranks(log)]
        until(lambda: stored() >= first)
        kill(cluster.workers.pop(rng.randrange(2)))
        until(lambda: stored() >= second)
        cluster.kill_scheduler()
        cluster.start_scheduler()
        cluster.start_worker()
        found = [values(one.result(300)) for one in asked]
    made.close()
    assert found == expected
