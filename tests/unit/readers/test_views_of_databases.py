"""Every view opens on every kind of database, and the page of counters shows the GPU's metrics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tb_privateuse1 import inference, readers
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.lookups import LOOKUPS
from tests.support import ascend, nsight, rocprof
from tests.support.results import result

PROGRAMS: dict[str, Callable[[Path], Path]] = {
    "ascend.db": lambda path: ascend.Program(steps=3).database(path),
    "nsight.sqlite": lambda path: nsight.Program(steps=3).database(path),
    "rocprof.db": lambda path: rocprof.Program(steps=3).database(path),
}


@pytest.fixture(scope="module", params=PROGRAMS)
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    path = PROGRAMS[request.param](tmp_path_factory.mktemp("database") / request.param)
    return inference.build_trace(readers.read(str(path)), None)


@pytest.mark.parametrize("name", [*VIEWS, *LOOKUPS])
def test_every_view_opens(trace: Trace, name: str) -> None:
    view = VIEWS[name] if name in VIEWS else LOOKUPS[name]
    options = {"table": "ops"} if name == "links" else {}
    assert encode(result(view, trace, **options))
