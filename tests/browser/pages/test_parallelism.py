"""The tables of axes, nodes, pipeline stages and groups on the page of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.support import make, parallel_runs, trace_files
from tests.support.dashboard import Dashboard, number
from tests.support.server import Server, serve


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One pipeline of the job, ranks 0 and 4 of sixteen, and a run without groups."""
    folder = tmp_path_factory.mktemp("parallel")
    for rank in (0, 4):
        path = folder / "job" / f"rank{rank}.1.pt.trace.json"
        trace_files.write(path, parallel_runs.document(rank))
    lonely = make.document(make.step(0, 0, 100), make.op("aten::mm", 10, 30))
    trace_files.write(folder / "lonely" / "rank0.1.pt.trace.json", lonely)
    with serve("--logdir", folder) as server:
        server.plugin("distributed?run=job")  # reads both traces
        yield server


def test_each_table_has_its_rows(visit: Callable[[Server], Dashboard], job: Server) -> None:
    answer = job.plugin("distributed?run=job").json
    page = visit(job).open(run="job", view="distributed")
    keys = {"axes": "axis", "nodes": "host", "stages": "ranks", "groups": "name"}
    for group, key in keys.items():
        page.get(f"group-{group}").click()
        cells = page.rows(group).values()
        assert sorted(c[key] for c in cells) == sorted(row[key] for row in answer[group])
        assert page.state()["group"] == group
    exposed = {row["axis"]: row["exposed_ns"] for row in answer["axes"]}
    page.get("group-axes").click()
    assert {c["axis"]: number(c["exposed_ns"]) for c in page.rows("axes").values()} == exposed
    expect(page.get("group-experts")).to_have_count(0)


def test_a_run_without_groups_says_so(visit: Callable[[Server], Dashboard], job: Server) -> None:
    page = visit(job).open(run="lonely", view="distributed", group="axes")
    expect(page.get("no-axes")).to_contain_text("no process groups")
    page.get("group-ranks").click()
    assert len(page.rows("ranks")) == 1
