"""Who keeps the other ranks waiting: a planted slow rank, its cause and its victims in text."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support import make, trace_files
from tests.support.dashboard import Dashboard
from tests.support.server import Server, serve

RANKS, STEPS, SLOW = 6, 6, 4


def write(path: Path, rank: int, *, slow: int | None) -> None:
    """A rank of a data-parallel job: the slow one's gemm takes 200 us longer than all others'."""
    noise = random.Random(rank)
    events: list[make.Event] = []
    for i in range(STEPS):
        at = 1000.0 * i
        works = 300 + noise.uniform(-5, 5) + (200 if rank == slow else 0)
        talks = {
            "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
            "Out msg nelems": 1000, "Group size": RANKS, "Process Group Name": "0",
        }  # fmt: skip
        events += [
            make.step(i, at, at + 900), make.op("aten::mm", at, at + 9),
            make.launch(at + 1, at + 2, 10 * i), make.launch(at + 3, at + 4, 10 * i + 1),
            make.kernel("gemm", at + 10, at + 10 + works, 10 * i),
            make.kernel("ncclAllReduce", at + 10 + works, at + 560, 10 * i + 1, stream=9, **talks),
        ]  # fmt: skip
    told = {"backend": "nccl", "rank": rank, "world_size": RANKS}
    trace_files.write(path, make.document(*events, distributedInfo=told))


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("jobs")
    for run, slow in (("slow", SLOW), ("even", None)):
        for rank in range(RANKS):
            write(folder / run / f"host_{rank}.1.pt.trace.json", rank, slow=slow)
    with serve("--logdir", folder) as server:
        yield server


def test_a_slow_rank_with_cause_and_victims(
    visit: Callable[[Server], Dashboard], jobs: Server
) -> None:
    page = visit(jobs).open(run="slow", view="distributed")
    page.shows("culprits", rows=1)
    culprit = page.get("culprit")
    expect(culprit.locator("header")).to_contain_text("Rank 4")
    expect(culprit.locator("[data-key=cause]")).to_contain_text("Computation takes longer by")
    expect(culprit.locator("[data-key=cause] code")).to_have_text("gemm")
    expect(culprit.get_by_test_id("victims")).to_have_text("Ranks 0\N{EN DASH}3, 5")
    expect(culprit.locator("[data-key=evidence]")).to_contain_text("in 6 of 6 steps")
    culprit.locator("[data-key=pages] li").first.locator("a").last.click()
    page.shows("page-overview")
    page.shows("rank-picker", value=SLOW)


def test_the_summary_names_the_slow_rank_as_ranks_does(
    visit: Callable[[Server], Dashboard], jobs: Server
) -> None:
    page = visit(jobs).open(run="slow")
    culprit = page.get("waited-for-one")
    expect(culprit).to_contain_text("Rank 4 (slow)")
    cost = culprit.locator("[data-value]").inner_text()
    page.get("to-ranks").click()
    page.shows("page-distributed")
    expect(page.get("culprit").locator(".cost")).to_have_text(cost)


def test_the_summary_of_even_ranks_accuses_none(
    visit: Callable[[Server], Dashboard], jobs: Server
) -> None:
    page = visit(jobs).open(run="even")
    expect(page.get("waited-for-none")).to_contain_text("18.0 µs a step are not listed")


def test_even_ranks_have_no_culprit(visit: Callable[[Server], Dashboard], jobs: Server) -> None:
    page = visit(jobs).open(run="even", view="distributed")
    least = jobs.plugin("distributed?run=even").json["least_cost_ns"]
    none = page.shows("no-culprits", value=least)
    expect(none).to_contain_text("18.0 µs a step are not listed")
