"""What many tests share: a cache of their own, a logdir, a TensorBoard."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import logdir as made
from tests.support.repeats import LONG, repeats
from tests.support.server import Server, serve
from tests.support.shared_traces import recording_of
from tests.support.web import Web
from tests.support.web import serve as serve_folder

# How long an example takes is the machine's matter.
settings.register_profile(
    "tests",
    deadline=None,
    max_examples=repeats(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


# A shell's background job ignores Ctrl-C, and so would the programs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

_TESTS = Path(__file__).parent
_TIERS = ("browser", "device", "server", "peers")
"""Folders whose tests have the marker of that name; ``long`` is set by hand."""
_GROUPED = ("browser", "device", "server")
"""Tiers whose files share a server or a recording among their tests."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test with its tier and with its group, before xdist reads the groups.

    ``--dist loadgroup`` spreads single tests over the workers, so the many short ones fill the end
    of a run. Files whose tests share something slow stay on one worker, and so do the tests of one
    real recording: they share its trace and what was analyzed of it.
    """
    if (tier := _tier(item)) in _TIERS:
        item.add_marker(tier)
    if tier in _GROUPED:
        item.add_marker(pytest.mark.xdist_group(item.path.relative_to(_TESTS).as_posix()))
    elif recording := recording_of(item):
        item.add_marker(pytest.mark.xdist_group(recording))


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the exhaustive tests but in ``make long``; run the slowest tiers first."""
    if not LONG:
        exhaustive = [item for item in items if item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=exhaustive)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
    items.sort(key=_order)  # stable


def _tier(item: pytest.Item) -> str:
    return item.path.relative_to(_TESTS).parts[0] if item.path.is_relative_to(_TESTS) else ""


def _order(item: pytest.Item) -> int:
    if item.get_closest_marker("long"):
        return -1
    tier = _tier(item)
    return _TIERS.index(tier) if tier in _TIERS else len(_TIERS)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests neither read nor fill the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["TB_PRIVATEUSE1_CACHE"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A logdir with every kind of run; see tests/support/logdir.py."""
    return made.write(tmp_path_factory.mktemp("logdir"))


@pytest.fixture(scope="session")
def tensorboard(logdir: Path) -> Iterator[Server]:
    """A real TensorBoard on ``logdir``."""
    with serve("--logdir", logdir) as server:
        yield server


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """A web server for an empty directory."""
    folder = tmp_path / "web"
    folder.mkdir()
    with serve_folder(folder) as server:
        yield server
