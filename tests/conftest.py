"""What many tests share: a cache of their own, a logdir, a TensorBoard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import logdir as made
from tests.support.server import Server, serve

# How long an example takes is the machine's matter.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


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
