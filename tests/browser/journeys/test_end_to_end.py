"""The real thing: training on the reference device, recorded with our capture, in the browser.

What the page shows is compared with what torch's own tables say of the run, and with the device's
log of what it really did. Both are of every step: a slow first one is no part of the steady window.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tb_privateuse1.trace import device_times, uncertainty
from tests.support import recording
from tests.support.dashboard import Dashboard, number
from tests.support.frameworks import timeline
from tests.support.repeats import sampled
from tests.support.server import Server, serve

STEPS = 3
COMPARED = ("calls", "host_self_ns", "host_total_ns")


@pytest.fixture
def hosted() -> bool:
    """As a reader sees it."""
    return True


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same training twice: with ``ProfilerStubs`` alone, and with a Kineto profiler."""
    folder = tmp_path_factory.mktemp("logdir")
    steps = ("--steps", str(STEPS))
    # A slow device stays behind the host, however busy that is: durations do not hide in its time.
    recording.record_undisturbed(folder / "inferred", "mlp", *steps, REFDEVICE_SPEED="0.25")
    recording.record(folder / "measured", "mlp", *steps, REFDEVICE_KINETO="1")
    return folder


@pytest.fixture(scope="module")
def server(logdir: Path) -> Iterator[Server]:
    with serve("--logdir", logdir) as server:
        yield server


@pytest.fixture
def dashboard(visit: Callable[[Server], Dashboard], server: Server) -> Dashboard:
    dashboard = visit(server)
    dashboard.page.set_viewport_size({"width": 1500, "height": 3000})  # so that every row is drawn
    return dashboard


def launched(folder: Path) -> list[dict[str, Any]]:
    """What really ran on the device and was launched by a recorded operator, as rows."""
    columns = recording.truth(folder)
    names = ("external_id", "kind", "start_ns", "end_ns")
    values = zip(*(columns[name] for name in names), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in values]
    # The capture measures the device behind the window: these operators are not recorded.
    recorded = operators(folder)
    return [row for row in rows if row["external_id"] in recorded]


def operators(folder: Path) -> dict[int, str]:
    """The names of the program's recorded operators by their External ids."""
    (trace,) = folder.glob("*.pt.trace.json")
    events = json.loads(trace.read_text())["traceEvents"]
    planted = recording.planted_ids(trace)
    found = {e["args"]["External id"]: e["name"] for e in events if e.get("cat") == "cpu_op"}
    return {number: name for number, name in found.items() if number not in planted}


def by_operator(folder: Path) -> Counter[str]:
    """How many activities each operator really launched."""
    names = operators(folder)
    return Counter(names[row["external_id"]] for row in launched(folder))


def union_ns(rows: Iterable[dict[str, Any]]) -> int:
    """How long any of them ran. Written anew: this is what our own arithmetic is held against."""
    total, until = 0, 0
    for start, end in sorted((row["start_ns"], row["end_ns"]) for row in rows):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


@pytest.mark.parametrize("run", sampled(["inferred", "measured"]))
def test_host_figures_are_torchs(dashboard: Dashboard, logdir: Path, run: str) -> None:
    told: dict[str, Counter[str]] = {}
    for row in recording.averages(logdir / run):
        told.setdefault(row.name, Counter()).update(
            calls=row.calls, host_self_ns=row.host_self_ns, host_total_ns=row.host_total_ns
        )
    # By step: the whole recording has the capture's own operators, the steady part may lack one.
    shown: dict[str, Counter[str]] = {}
    steps = dashboard.server.plugin(f"overview?run={run}&window=all").json["steps"]
    assert len(steps) == STEPS
    for step in steps:
        dashboard.open(run=run, view="operators", step=step["name"].partition("#")[2])
        for name, cells in dashboard.rows("operators").items():
            figures = {key: int(number(cells[key]) or 0) for key in COMPARED}
            shown.setdefault(name, Counter()).update(figures)
    assert shown == told


def test_measured_figures_are_the_devices(dashboard: Dashboard, logdir: Path) -> None:
    truth = launched(logdir / "measured")
    dashboard.open(run="measured", window="all")
    expect(dashboard.shows("source-badge", timeline="measured")).to_have_text("measured")
    assert dashboard.busy_ns() == union_ns(truth)
    kinds = Counter(row["kind"] for row in truth)
    assert dashboard.figure("kernels") == kinds["kernel"] > 50
    totals = dashboard.server.plugin("overview?run=measured&window=all").json["totals"]
    assert totals["linked"] == len(truth)
    assert len(dashboard.rows("steps")) == STEPS
    dashboard.go_to("operators")
    shown = {name: number(row["kernels"]) for name, row in dashboard.rows("operators").items()}
    assert {name: count for name, count in shown.items() if count} == by_operator(
        logdir / "measured"
    )


def test_inferred_figures_hold_their_bounds(dashboard: Dashboard, logdir: Path) -> None:
    truth = launched(logdir / "inferred")
    dashboard.open(run="inferred", window="all")
    expect(dashboard.shows("source-badge", timeline="inferred")).to_contain_text("±")
    account = dashboard.server.plugin("overview?run=inferred&window=all").json["account"]
    busy, bound = dashboard.busy_ns(), account["idle_bound_ns"]
    assert busy is not None
    if bound is None:  # where others held the host up, limits are missing
        (path,) = (logdir / "inferred").glob("*.pt.trace.json")
        trace = timeline(path)
        assert device_times.may_lack_work(trace) or not uncertainty.limited(trace.kernels).all()
        return
    assert abs(busy - union_ns(truth)) <= bound
    assert bound < 0.2 * busy  # a bound that says something
    assert len(dashboard.rows("steps")) == STEPS


def test_every_operator_that_launched_is_found(dashboard: Dashboard, logdir: Path) -> None:
    """Few others may be taken for launching: an elapsed time does not tell work from waiting."""
    dashboard.open(run="inferred", view="operators", window="all")
    rows = dashboard.rows("operators")
    truth = by_operator(logdir / "inferred")
    shown = Counter({name: int(row["kernels"] or 0) for name, row in rows.items()})
    assert not truth - shown
    assert (shown - truth).total() <= 0.15 * truth.total()
