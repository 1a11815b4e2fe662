"""Every view opens on every format, and one trace is the same in all its forms."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path

import numpy as np
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.lookups import LOOKUPS
from tests.support import every_format, invariants
from tests.support.results import result

_FORMS = ("list", "lines", "zstd", "xz", "bzip2", "zip", "tar")
_FORMATS = tuple(name for name in every_format.RUNS if name not in _FORMS)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return every_format.write(tmp_path_factory.mktemp("formats"))


@functools.cache
def trace_of(folder: Path) -> Trace:
    return tbp.open(folder).trace()


@pytest.mark.long
@pytest.mark.parametrize("name", _FORMATS)
def test_a_trace_is_consistent(logdir: Path, name: str) -> None:
    invariants.check(trace_of(logdir / name))


@pytest.mark.parametrize("name", [*VIEWS, *LOOKUPS])
@pytest.mark.parametrize("of", _FORMATS)
def test_every_view_opens(logdir: Path, of: str, name: str) -> None:
    trace = trace_of(logdir / of)
    view = VIEWS[name] if name in VIEWS else LOOKUPS[name]
    options = {"table": "ops"} if name == "links" else {}
    has_no_row = name == "links" and not len(trace.ops)
    with pytest.raises(TraceError) if has_no_row else contextlib.nullcontext():
        assert encode(result(view, trace, **options))


@pytest.mark.parametrize("name", ["snapshot", "memory_timeline", "flight_recorder"])
def test_a_recording_without_a_trace_advises_no_other_capture(logdir: Path, name: str) -> None:
    found = result(VIEWS["method"], trace_of(logdir / name))
    assert found.advice == ()
    assert [finding.code for finding in found.refused] == [f"{name}_alone"]
    assert found.reason == found.refused[0].message


@pytest.mark.parametrize("form", _FORMS)
def test_a_form_changes_nothing(logdir: Path, form: str) -> None:
    plain, same = trace_of(logdir / "chrome"), trace_of(logdir / form)
    for table in ("ops", "kernels", "launches", "memory", "steps", "counter_samples"):
        for column in ("start_ns", "end_ns", "ts_ns", "bytes", "name", "value"):
            if hasattr(getattr(plain, table), column):
                expected, found = (getattr(getattr(t, table), column) for t in (plain, same))
                np.testing.assert_array_equal(expected, found)
