"""The pytest plugin: ``--profile-budget``, the marker and the fixture ``profile_budget``.

pytest loads it in every run, so it imports nothing but pytest until a test is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tb_privateuse1.testing.budget import Budget, BudgetError, read_budget
from tb_privateuse1.testing.recording import ProfileBudget

_MARKER = "profile_budget"
_PROPERTY = "profile_budget"
"""The key of the figures in a report's properties; JUnit XML has them, too."""
_BUDGET = pytest.StashKey[ProfileBudget]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("profile budget")
    group.addoption(
        "--profile-budget",
        action="store_true",
        help="record tests with a profile_budget, and fail those that exceed it",
    )
    group.addoption(
        "--profile-baseline-write",
        action="store_true",
        help="write what is recorded into the baselines that the tests name",
    )
    group.addoption(
        "--profile-budget-dir",
        metavar="DIR",
        default=".profile-budget",
        help="where the traces are kept: .profile-budget in the root directory by default",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse to write a file from several processes."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(step, device_time, memory, launches, synchronizations, baseline, name, limit, "
        "runs, repeat, warmup, stacks): the budget of a step, checked with --profile-budget",
    )
    if config.getoption("--profile-baseline-write"):
        if not config.getoption("--profile-budget"):
            raise pytest.UsageError("--profile-baseline-write needs --profile-budget")
        if _is_parallel(config):
            raise pytest.UsageError("--profile-baseline-write runs tests one by one: leave out -n")


def _is_parallel(config: pytest.Config) -> bool:
    """Return whether pytest-xdist runs tests beside each other."""
    return hasattr(config, "workerinput") or bool(getattr(config.option, "numprocesses", None))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep measured tests on one worker of pytest-xdist, for ``--dist loadgroup``."""
    if config.getoption("--profile-budget") and config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.get_closest_marker(_MARKER):
                item.add_marker(pytest.mark.xdist_group(_MARKER))


@pytest.fixture
def profile_budget(request: pytest.FixtureRequest) -> ProfileBudget:
    """Return the recorder of the test's steps."""
    item, config = request.node, request.config
    folder = _folder(config, item.nodeid) if config.getoption("--profile-budget") else None
    try:
        found = ProfileBudget(_budget(item), folder)
    except BudgetError as error:
        pytest.fail(str(error), pytrace=False)
    item.stash[_BUDGET] = found
    return found


def _budget(item: pytest.Item) -> Budget:
    marker = item.get_closest_marker(_MARKER)
    if marker is not None and marker.args:
        raise BudgetError("profile_budget takes keyword arguments only")
    return read_budget(marker.kwargs if marker else {})


def _folder(config: pytest.Config, nodeid: str) -> Path:
    """Return the folder of a test; each worker of pytest-xdist has its own."""
    top: Path = config.rootpath / config.getoption("--profile-budget-dir")
    worker = getattr(config, "workerinput", {}).get("workerid")
    return (top / worker if worker else top) / re.sub(r"[^\w.-]+", "_", nodeid)[-150:]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judge what was recorded after the test has passed."""
    result = yield
    if item.get_closest_marker(_MARKER) and item.config.getoption("--profile-budget"):
        budget = item.stash.get(_BUDGET, None)
        if budget is None:
            pytest.fail(
                "a test with a profile_budget needs the fixture profile_budget: "
                "for _ in profile_budget.steps(): ...",
                pytrace=False,
            )
        _judge(item, budget)
    return result


def _judge(item: pytest.Item, found: ProfileBudget) -> None:
    from tb_privateuse1.testing.judgment import judge
    from tb_privateuse1.trace.errors import TraceError

    budget, config = found.budget, item.config
    try:
        found.judgment = judge(
            found.traces,
            budget,
            config.rootpath / budget.baseline if budget.baseline else None,
            budget.name or item.nodeid,
            is_written=config.getoption("--profile-baseline-write"),
            line_trace=found.line_trace,
        )
    except BudgetError as error:
        pytest.fail(str(error), pytrace=False)
    except TraceError as error:
        pytest.fail(f"{error.message} {error.hint or ''}".strip(), pytrace=False)
    item.user_properties += [(_PROPERTY, line) for line in found.judgment.lines]
    if found.judgment.problem is not None:
        pytest.fail(f"over budget\n{found.judgment.problem}", pytrace=False)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the figures of the measured tests."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if report.when == "call" and any(key == _PROPERTY for key, _ in report.user_properties)
    ]
    if not reports:
        return
    terminalreporter.section("profile budgets")
    for report in reports:
        terminalreporter.line(report.nodeid)
        for key, line in report.user_properties:
            if key == _PROPERTY:
                terminalreporter.line(f"  {line}")
    if _is_parallel(config):
        terminalreporter.line(
            "Tests ran beside each other, which makes steps slower: measure without -n."
        )
