"""Five questions, each answered in at most two clicks from the page that TensorBoard opens.

Each answer is read from the page and compared with SQL over the columns. Choosing the recording is
not counted. docs/internals/time-to-insight.md has the clicks and the answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.support import five_tasks
from tests.support.axe import settled
from tests.support.dashboard import WAIT_MS, Dashboard, number
from tests.support.repeats import sampled
from tests.support.server import FOLLOWS_LINKS, Server, serve
from tests.support.shared_traces import FOLDER, TRACES

SHARED = {
    "timesformer": "cuda/h100_timesformer", "qwen": "cuda/h100_qwen", "gpt-oss": "cuda/b200_eager",
    "decode": "rocm/sglang_decode", "resnet50/loader-in-process": "cuda/v100_resnet50_workers0",
    "resnet50/loader-with-workers": "cuda/v100_resnet50_workers4",
    "mha": "privateuse1/mha_device",
}  # fmt: skip
MOST_CLICKS = 2


@pytest.fixture
def hosted() -> bool:
    """As an engineer goes through it."""
    return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Small programs, and real recordings where they are present."""
    folder = tmp_path_factory.mktemp("logdir")
    five_tasks.write(folder, "denoiser", five_tasks.denoiser())
    five_tasks.write(folder, "service", five_tasks.service())
    five_tasks.write(folder, "generator", five_tasks.generator())
    five_tasks.write(folder, "model/before", five_tasks.denoiser(preview=False))
    five_tasks.write(folder, "model/after", five_tasks.denoiser(softmax_us=120, preview=False))
    for run, path in SHARED.items() if TRACES else ():
        (folder / run).parent.mkdir(exist_ok=True)
        (folder / run).symlink_to(FOLDER / path)
    with serve("--logdir", folder, variables=FOLLOWS_LINKS) as server:
        yield server


class Player:
    """Who answers a question: on a recording's first page, with a count of the clicks."""

    def __init__(self, dashboard: Dashboard, run: str) -> None:
        self.dashboard, self.run, self.clicks = dashboard, run, 0
        settled(dashboard.open(run=run))

    def click(self, what: Locator) -> None:
        what.click(timeout=WAIT_MS)
        self.clicks += 1
        settled(self.dashboard)

    def jump(self, letter: str) -> None:
        """Go to a page by its key."""
        for key in ("g", letter):
            self.dashboard.page.keyboard.press(key)
        settled(self.dashboard)

    def sql(self, query: str) -> list[object]:
        """The first row of a query over the run's columns."""
        return five_tasks.rows(self.dashboard.server, self.run, query)[0]


@pytest.fixture
def play(visit: Callable[[Server], Dashboard], server: Server) -> Iterator[Callable[[str], Player]]:
    """Open a recording. At the end no more clicks than are allowed were needed."""
    players: list[Player] = []

    def play(run: str) -> Player:
        players.append(Player(visit(server), run))
        return players[-1]

    yield play
    assert all(player.clicks <= MOST_CLICKS for player in players)


def real(*values: str) -> object:
    """A case that needs the recordings that are not in the repository."""
    absent = pytest.mark.skipif(not TRACES, reason="the shared traces are not here")
    return pytest.param(*values, marks=absent)


@pytest.mark.parametrize("run", sampled([real("timesformer"), "denoiser", real("qwen")]))
def test_the_costliest_kernel_its_operator_line_and_share_of_the_step(
    play: Callable[[str], Player], run: str
) -> None:
    player = play(run)
    page = player.dashboard
    player.click(page.get("hotspots").get_by_test_id("group-kernel"))
    page.shows("hotspots", key="kernel")
    first = page.get("hotspot-rows").locator("tr[data-key]").first
    name, ns, share, operator, line = player.sql(five_tasks.COSTLY_KERNEL)
    expect(first).to_have_attribute("data-value", str(ns))
    assert str(name) in (first.get_attribute("data-key") or "")
    assert_share(first, share)
    launched = first.get_by_test_id("hotspot-launched")
    expect(launched).to_have_attribute("data-operator", str(operator))
    expect(launched).to_have_attribute("data-function", re.compile(re.escape(place(line))))
    expect(launched).to_contain_text(str(operator))
    expect(launched).to_contain_text(place(line))


@pytest.mark.parametrize("run", sampled(["denoiser", real("timesformer")]))
def test_a_kernels_row_opens_its_typical_call(play: Callable[[str], Player], run: str) -> None:
    """The longest call may be an exception: that of the denoiser is a preview's."""
    player = play(run)
    page = player.dashboard
    player.jump("k")
    player.click(page.get("table-kernels").locator("tbody tr[data-key]").first)
    *_, line = player.sql(five_tasks.COSTLY_KERNEL)
    expect(page.shows("typical")).to_contain_text(place(line), timeout=WAIT_MS)


@pytest.mark.parametrize("run", sampled(["denoiser", real("timesformer"), real("qwen")]))
def test_the_slowest_layer(play: Callable[[str], Player], run: str) -> None:
    player = play(run)
    page = player.dashboard
    player.click(page.get("hotspots").get_by_test_id("group-module"))
    page.shows("hotspots", key="module")
    rows = page.get("hotspot-rows").locator('tr[data-key^="module "]')
    name, ns, share = player.sql(five_tasks.SLOW_CLASS)
    slowest = rows.filter(has=page.inside.get_by_role("link")).first  # the others are no modules
    expect(slowest).to_have_attribute("data-key", f"module {name}")
    expect(slowest).to_have_attribute("data-value", str(ns))
    assert_share(slowest, share)


def test_one_line_is_one_row_whatever_module_called_it(play: Callable[[str], Player]) -> None:
    """Four blocks of one class run the same line."""
    page = play("denoiser").dashboard
    for group, key in (("stack", "unet.py(40): attend"), ("module", "AttentionBlock")):
        settled(page.open(run="denoiser", view="operators", group=group))
        cells = [row for row in page.rows("operators").values() if row["name"] == "aten::_softmax"]
        of_block = [row for row in cells if (row.get(group) or "").startswith(key)]
        assert [row["calls"] for row in of_block] == ["12"]


@pytest.mark.parametrize("run", sampled(["denoiser", real("timesformer")]))
def test_the_page_of_modules_has_it_first_too(play: Callable[[str], Player], run: str) -> None:
    player = play(run)
    player.click(player.dashboard.get("rail-time"))
    player.click(player.dashboard.get("tab-modules"))
    name, ns, _ = player.sql(five_tasks.SLOW_CLASS)
    own: dict[str, float] = {}
    for path, cells in player.dashboard.rows("modules").items():
        of = path.rpartition(" / ")[2]
        own[of] = own.get(of, 0) + (number(cells["device_self_ns"]) or 0)
    assert max(own, key=lambda of: own[of]) == name
    assert own[str(name)] == ns


@pytest.mark.parametrize(
    ("run", "query"),
    sampled([("service", five_tasks.IDLE_FRAME), real("gpt-oss", five_tasks.IDLE_OPERATOR)]),
)
def test_whether_serving_is_host_bound_and_where(
    play: Callable[[str], Player], run: str, query: str
) -> None:
    player = play(run)
    page = player.dashboard
    (busy,) = player.sql(five_tasks.BUSY)
    assert page.busy_ns() == busy
    place, _ = player.sql(query)
    frame = re.fullmatch(r"(?P<file>.+)\((?P<line>\d+)\): (?P<name>.+)", str(place))
    title = frame.expand(r"\g<name> (\g<file>:\g<line>)") if frame else str(place)
    expect(page.shows("verdict", key="host")).to_contain_text(title)


@pytest.mark.parametrize("run", [real("decode")])
def test_a_wait_for_earlier_work_is_not_the_runs_own_limit(
    play: Callable[[str], Player], run: str
) -> None:
    """The device is idle for 98 % of this recording, and the decoding in it is device-bound."""
    page = play(run).dashboard
    page.shows("verdict", key="device")
    drain = page.get("phases").locator('[data-key="drain"]')
    (gap,) = play(run).sql(five_tasks.LONGEST_GAP)
    length = number(drain.get_attribute("data-value") or "")
    assert length == pytest.approx(gap, rel=1e-3)


@pytest.mark.parametrize("run", sampled(["generator", real("mha")]))
def test_what_grew_in_memory(play: Callable[[str], Player], run: str) -> None:
    player = play(run)
    page = player.dashboard
    player.click(page.get("rail-memory"))
    player.click(page.get("group-remaining"))
    line, size, blocks = player.sql(five_tasks.REMAINING)
    largest = page.get("table-memory-remaining").locator("tbody tr[data-key]").first
    expect(largest.locator('td[data-column="name"]')).to_contain_text(place(line))
    for column, value in (("bytes", size), ("allocations", blocks)):
        cell = largest.locator(f'td[data-column="{column}"]')
        expect(cell).to_have_attribute("data-value", str(value))


@pytest.mark.parametrize(
    ("run", "base"),
    sampled(
        [
            ("model/after", "model/before"),
            real("resnet50/loader-in-process", "resnet50/loader-with-workers"),
        ]
    ),
)
def test_what_got_slower_and_why(play: Callable[[str], Player], run: str, base: str) -> None:
    player = play(run)
    page = player.dashboard
    player.click(page.get("rail-compare"))
    player.click(page.get("tab-diff"))
    page.shows("baserun-picker", value=base)  # without being chosen

    def costs(of: str) -> dict[str, float]:
        names = page.server.plugin(f"overview?run={of}").json["recording"]["judged_steps"]
        steps = ", ".join(f"'{name}'" for name in names)
        return dict(five_tasks.rows(page.server, of, five_tasks.COSTS.format(steps=steps)))

    now, before = costs(run), costs(base)
    changes = {cost: now.get(cost, 0) - before.get(cost, 0) for cost in {*now, *before}}
    step = changes.pop("step")
    largest = max(changes, key=lambda cost: changes[cost])
    why = page.shows("why")
    assert number(why.get_attribute("data-value") or "") == pytest.approx(step, abs=1)
    first = why.get_by_test_id("reason").first
    expect(first).to_contain_text(largest)
    # The wait for the loader is that part of its time in which the device is idle.
    part = number(first.get_attribute("data-value") or "")
    assert part == pytest.approx(changes[largest], rel=0.2)


def place(line: object) -> str:
    """A frame's file without its folders, and its line: ``unet.py:40``."""
    file, _, rest = str(line).rpartition("/")[2].partition("(")
    return f"{file}:{rest.partition(')')[0]}"


def assert_share(row: Locator, share: object) -> None:
    """The last cell of a row says this share, to three digits."""
    text = row.locator("td.number").last.inner_text().replace(" ", " ")
    assert float(text.removesuffix(" %")) / 100 == pytest.approx(float(str(share)), rel=5e-3)
