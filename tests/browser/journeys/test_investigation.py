"""A whole investigation by clicks on what one sees, and the way back by the address.

Slow run, slow step, operator, kernel, its instance on the timeline, the line of Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.support.axe import settled
from tests.support.dashboard import WAIT_MS, Dashboard, number
from tests.support.make import Event, document, frame, kernel, launch, op, step
from tests.support.repeats import sampled
from tests.support.server import FOLLOWS_LINKS, Server, serve

EXAMPLES = Path(__file__).parents[3] / "examples" / "runs"
OPERATORS = {"aten::conv2d": 200, "aten::mm": 120, "aten::relu": 20}
SLOW_STEP = 7
PROPERTIES = [{"id": 0, "name": "NVIDIA H100", "numSms": 132, "computeMajor": 9}]


def training(slow: bool) -> dict[str, object]:
    """Three steps of measured CUDA; in the slow run ``aten::mm`` takes longer, most in one step."""
    events: list[Event] = []
    begin = number = 0
    for nth in range(3):
        n, free = 6 + nth, begin + 40
        for i, (name, usual) in enumerate(OPERATORS.items()):
            number += 1
            start = begin + 20 + 30 * i
            extra = 0 if not slow or name != "aten::mm" else 170 if n == SLOW_STEP else 150
            events += [
                frame(f"model.py({30 + i}): {name[6:]}", start - 1, start + 25),
                op(name, start, start + 20, id=number),
                launch(start + 5, start + 10, number),
                kernel(f"{name[6:]}_kernel", free, free + usual + extra, number),
            ]
            free += usual + extra
        events += [
            step(n, begin, free + 10),
            frame(f"train.py({10 + nth}): train", begin + 1, free),
        ]
        begin = free + 10
    return document(*events, deviceProperties=PROPERTIES)


@pytest.fixture
def hosted() -> bool:
    """As an engineer goes through it."""
    return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two runs of CUDA, and recordings of the reference device, measured and inferred."""
    folder = tmp_path_factory.mktemp("logdir")
    for run in ("fast", "slow"):
        (folder / run).mkdir()
        path = folder / run / "host.1700000000000.pt.trace.json"
        path.write_text(json.dumps(training(slow=run == "slow")))
    for run in ("transformer-inferred", "transformer-measured"):
        (folder / run).symlink_to(EXAMPLES / run)
    with serve("--logdir", folder, variables=FOLLOWS_LINKS) as server:
        yield server


@pytest.fixture
def dashboard(visit: Callable[[Server], Dashboard], server: Server) -> Dashboard:
    return visit(server)


class Trail:
    """Where one has been: each click is one step of the way back."""

    def __init__(self, dashboard: Dashboard) -> None:
        self.dashboard = dashboard
        self.places: list[dict[str, str]] = []

    def click(self, what: Locator, **then: str) -> None:
        """Click, and see that it led there."""
        self.places.append(self.here())
        what.click(timeout=WAIT_MS)
        settled(self.dashboard)
        if "view" in then:
            self.dashboard.shows(f"page-{then['view']}")
        told = self.here()
        assert told != self.places[-1], "it led nowhere"
        assert {key: told.get(key) for key in then} == then

    def here(self) -> dict[str, str]:
        """The address, without what the timeline writes there as it comes to rest."""
        now = self.dashboard.state()
        if now.get("view") == "timeline":
            now.pop("range", None)
        return now

    def back(self) -> None:
        """The same way, to where it began; each place shows its page again."""
        for place in reversed(self.places):
            self.dashboard.page.go_back()
            self.dashboard.shows(f"page-{place.get('view', 'overview')}")
            settled(self.dashboard)
            assert self.here() == place


def row(dashboard: Dashboard, table: str, at: int = 0) -> Locator:
    return dashboard.shows(f"table-{table}").locator("tbody tr[data-key]").nth(at)


def to_the_source(trail: Trail, operator: str) -> str:
    """From the operator's row to the line of Python of the longest of its kernels."""
    d = trail.dashboard
    trail.click(d.get("table-operators").locator(f'tr[data-key="{operator}"]'))
    trail.click(d.get("operator-kernels"), view="kernels", filter=f'operator = "{operator}"')
    longest = row(d, "kernels")
    told = longest.locator('td[data-column="name"]').get_attribute("data-value")
    trail.click(longest, view="kernels")
    first = row(d, "instances")
    took = first.locator('td[data-column="duration_ns"]').get_attribute("data-value")
    index = first.get_attribute("data-key")
    start = first.locator('td[data-column="start_ns"]').get_by_role("link")
    trail.click(start, view="timeline", item=f"kernels:{index}")
    links = d.server.plugin(f"links?run={d.state()['run']}&table=kernels&index={index}").json
    named = "details-name" if links["item"]["full_name"] is None else "details-full-name"
    expect(d.shows(named)).to_have_text(told or "")
    assert links["item"]["end_ns"] - links["item"]["start_ns"] == int(took or -1)
    assert links["operator"]["name"] == operator
    line = f"{links['where']['file']}:{links['where']['near_line']}"
    expect(d.get("timeline-details")).to_contain_text(line)
    return line


def same_after_reload(trail: Trail) -> None:
    """A colleague who gets the link, or who reloads, sees the same."""
    d = trail.dashboard
    d.page.wait_for_function("location.hash.includes('p.privateuse1.range')")
    before = d.state(), d.get("timeline-details").inner_text()
    d.page.reload()
    d.shows("details-name")
    settled(d)
    assert (d.state(), d.get("timeline-details").inner_text()) == before


def test_from_a_slow_run_of_cuda_to_its_line(dashboard: Dashboard) -> None:
    settled(dashboard.open())
    trail = Trail(dashboard)
    dashboard.pick("run", "slow")
    settled(dashboard)
    trail.click(dashboard.get("rail-compare"), view="history")
    trail.click(dashboard.get("tab-diff"), view="diff")
    dashboard.get("base").get_by_test_id("baserun-picker").click()
    choice = dashboard.get("baserun-picker-panel").locator('li[data-value="fast"]')
    trail.click(choice, view="diff", base="fast")
    longer = dashboard.shows("row-changes").locator("tr").first
    assert longer.get_attribute("data-sure") == "true"
    trail.click(longer.get_by_role("link", name="aten::mm"), view="diff")
    trail.click(dashboard.get("diff-row-now"), view="operators")
    trail.click(dashboard.get("rail-summary"), view="overview")
    steps = dashboard.get("table-steps")
    trail.click(steps.locator('th[data-column="duration_ns"] button'), sort="-duration_ns")
    trail.click(row(dashboard, "steps").locator('td[data-column="name"]'), step=str(SLOW_STEP))
    top = dashboard.get("hotspot-rows").locator("tr").first.get_by_role("link")
    trail.click(top, view="operators", step=str(SLOW_STEP), filter='name = "aten::mm"')
    assert to_the_source(trail, "aten::mm") == "model.py:31"
    frames = dashboard.get("to-frame").all_inner_texts()
    assert frames == ["model.py(31): mm", "train.py(11): train"]  # the slow step's own
    same_after_reload(trail)
    trail.back()


@pytest.mark.parametrize("run", sampled(["transformer-inferred", "transformer-measured"]))
def test_from_a_slow_step_of_a_recording_to_its_line(dashboard: Dashboard, run: str) -> None:
    settled(dashboard.open())
    dashboard.pick("run", run)
    settled(dashboard)
    trail = Trail(dashboard)
    steps = dashboard.get("table-steps")
    trail.click(steps.locator('th[data-column="duration_ns"] button'), sort="-duration_ns")
    told = [number(cells["duration_ns"]) or 0 for cells in dashboard.rows("steps").values()]
    assert told == sorted(told, reverse=True)
    slow = row(dashboard, "steps")
    name = slow.get_attribute("data-key") or ""
    trail.click(slow.locator('td[data-column="name"]'), step=name.partition("#")[2])
    top = dashboard.get("hotspot-rows").locator("tr").first
    operator = (top.get_attribute("data-key") or "").removeprefix("operator ")
    trail.click(top.get_by_role("link"), view="operators")
    line = to_the_source(trail, operator)
    assert line.partition(":")[0].endswith(".py")
    assert int(line.partition(":")[2]) > 1
    badge = run.partition("-")[2]
    dashboard.shows("source-badge", timeline=badge)
    if badge == "inferred":
        expect(dashboard.get("timeline-details")).to_contain_text("inferred:")
    same_after_reload(trail)
    trail.back()


def test_from_the_calls_of_an_operator_and_back_to_the_tables(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="transformer-measured", view="operators"))
    trail = Trail(dashboard)
    trail.click(row(dashboard, "operators").get_by_test_id("drill"))
    calls = dashboard.value("instances")
    expect(dashboard.get("histogram-durations")).to_have_attribute("data-value", calls)
    first = row(dashboard, "instances")
    index = first.get_attribute("data-key")
    start = first.locator('td[data-column="start_ns"]').get_by_role("link")
    trail.click(start, view="timeline", item=f"ops:{index}")
    kernels = dashboard.shows("to-kernel").first
    told = kernels.get_attribute("data-index")
    trail.click(kernels, item=f"kernels:{told}")
    dashboard.shows("to-kernels")  # the operator's details, which were there before, have none
    full = dashboard.get("details-full-name")  # not there if it is the name
    name = (full if full.count() else dashboard.get("details-name")).inner_text()
    trail.click(dashboard.get("to-kernels"), view="kernels", filter=f'name = "{name}"')
    assert {cells["name"] for cells in dashboard.rows("kernels").values()} == {name}
    trail.back()
