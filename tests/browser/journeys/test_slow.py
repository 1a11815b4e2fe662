"""The slow examples, as a newcomer plays them: capture, advice, fix, capture, compare.

What is planted, and where, stands in the examples' README. Its costs are sleeps, work that is left
out when fixed, and the reference device's own time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import expect

from tests.support import warm_python
from tests.support.dashboard import Dashboard
from tests.support.repeats import sampled
from tests.support.server import Server, serve
from tests.support.web import until

ROOT = Path(__file__).resolve().parents[3]
SLOW = ROOT / "examples" / "slow"

OTHERS = ("generate", "regress", "decode", "detect")
SCRIPTS = ("classify", *OTHERS)
_PLAYED = sampled(OTHERS)
_MOST_REPEATS = 3

_ROW = re.compile(r"^\| `(\w+)\.py` \| `(\w+)` \| `(\w+)` \|", re.MULTILINE)


def planted(script: str) -> dict[str, str]:
    """By rule, the function in which a fault shows."""
    rows = _ROW.findall((SLOW / "README.md").read_text())
    return {rule: function for name, rule, function in rows if name == script}


def python(*arguments: str | Path) -> None:
    """Run Python as the README has it."""
    paths = os.pathsep.join([str(ROOT / "examples" / "refdevice"), str(ROOT)])
    done = warm_python.run(
        warm_python.TORCH,
        arguments,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr


def advice(server: Server, run: str) -> dict[str, list[str]]:
    """The functions of a run's findings by rule, once the server has seen it."""
    until(lambda: run in [r["run"] for r in server.plugin("runs").json["runs"]])
    sources: dict[str, list[str]] = {}
    for row in server.plugin(f"advice?run={run}").json["rows"]:
        where = row["where"]
        sources.setdefault(row["rule"], []).append(where["title"] if where else "")
    return sources


def in_function(sources: list[str], script: str, function: str) -> bool:
    title = re.compile(rf"(\w+\.)*{function} \((.*/)?{script}\.py:\d+\)")
    return any(title.fullmatch(source) for source in sources)


@pytest.fixture
def hosted() -> bool:
    """As a newcomer goes through it."""
    return True


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slow")
    others = [name for script in _PLAYED for name in (script, f"{script}_fixed")]
    python("-m", "tests.support.slow_runs", folder, "classify", *others)
    return folder


@pytest.fixture(scope="module")
def server(log: Path) -> Iterator[Server]:
    with serve("--logdir", log, "--reload_interval", "1") as server:
        yield server


def test_faults_are_planted() -> None:
    assert [len(planted(script)) for script in SCRIPTS] == [4, 4, 4, 4, 4]


def test_in_the_browser(visit: Callable[[Server], Dashboard], server: Server, log: Path) -> None:
    dashboard = visit(server).open(run="classify", view="advice")
    for rule, function in planted("classify").items():
        finding = dashboard.inside.locator(f"[data-testid=finding][data-key={rule}]")
        finding.locator("button.headline").click()
        named = finding.get_by_test_id("function")
        expect(named).to_contain_text(re.compile(rf"\b{function} \(classify\.py:\d+\)"))
        expect(finding.locator("[data-key=fix]")).to_be_visible()
    python(SLOW / "classify_fixed.py", log / "classify_fixed")
    advice(server, "classify_fixed")
    dashboard.open(run="classify_fixed", view="advice")
    dashboard.get("all-rules").wait_for()
    for rule in planted("classify"):
        expect(dashboard.inside.locator(f"[data-testid=finding][data-key={rule}]")).to_have_count(0)
    dashboard.open(run="classify_fixed", view="diff", base="classify")
    dashboard.shows("baserun-picker", value="classify")
    base, change = dashboard.figure("base_ns"), dashboard.figure("change_ns")
    assert base is not None
    assert change is not None
    assert change < -0.15 * base


def wrong(server: Server, place: str, script: str) -> str | None:
    """Return what is wrong in the answers on a script and its fixed form, if anything is."""
    run, fixed = f"{place}{script}", f"{place}{script}_fixed"
    before = advice(server, run)
    for rule, function in planted(script).items():
        if not in_function(before.get(rule, []), script, function):
            return f"{rule} is not found in {function}: {before}"
    if left := set(advice(server, fixed)) & set(planted(script)):
        return f"still found: {sorted(left)}"
    steps = server.plugin(f"diff?run={fixed}&base_run={run}").json["steps"]
    before_ns, now_ns = (
        median(step[name] for step in steps if step[name] is not None)
        for name in ("base_ns", "now_ns")
    )
    return None if now_ns < 0.85 * before_ns else f"{now_ns} ns a step, {before_ns} before"


@pytest.mark.parametrize("script", _PLAYED)
def test_by_questions(server: Server, log: Path, script: str) -> None:
    """A host that is held up hides what the device does: then the programs run again."""
    found = wrong(server, "", script)
    for attempt in range(_MOST_REPEATS):
        if found is None:
            break
        python("-m", "tests.support.slow_runs", log / f"again{attempt}", script, f"{script}_fixed")
        found = wrong(server, f"again{attempt}/", script)
    assert found is None, found
