"""The Python interface: views as methods, selection of runs, reload, the cost of the import."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import __version__
from tb_privateuse1.api import Log
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reduced_traces import Rank
from tb_privateuse1.views.signature import reads_of
from tests.support.results import ranks, result
from tests.support.trace_files import sidecar, trace


def asked(log: Log, view: Callable[..., Any], **options: int) -> Any:
    """What a view says of rank 3, or of the ranks 0 and 3."""
    if reads_of(view) == ("recordings",):
        return log.history()
    if reads_of(view) == ("ranks",):
        parts = [(rank, ranks(log.trace(rank=rank))[0].part) for rank in (0, 3)]
        return view(tuple(Rank(rank, f"host_{rank}", part) for rank, part in parts), **options)
    return result(view, log.trace(rank=3), **options)


@pytest.mark.long
def test_views_are_methods(tmp_path: Path) -> None:
    for rank in (0, 3):
        trace(tmp_path / "r" / f"host_{rank}.1.pt.trace.json", rank=rank)
    sidecar(tmp_path / "r" / "host_3.1.kernel_event.json")
    log = tbp.open(tmp_path)
    assert [run.run for run in log.runs.runs] == ["r"]
    for name, view in VIEWS.items():
        method = getattr(log, name)
        assert encode(method(rank=3)) == encode(asked(log, view))
        assert name in dir(log)
        parameters = inspect.signature(method).parameters
        assert {"run", "rank", "span"} <= set(parameters)
        if reads_of(view) != ("recordings",):  # all recordings have no step in common
            of_step = encode(asked(log, view, step=2))
            assert encode(method(run="r", rank=3, span=1, step=2)) == of_step
            assert "step" in parameters
        assert "trace" not in parameters
        assert method.__doc__ == view.__doc__
    assert log.overview().provenance.timeline == "none"
    assert log.overview(rank=3).provenance.timeline == "inferred"
    assert "r" in repr(log)


def test_a_place_is_what_a_trace_is_compared_with(tmp_path: Path) -> None:
    for run, name in (("old", "aten::mm"), ("new", "aten::add")):
        trace(tmp_path / run / "host_0.1.pt.trace.json", rank=0, name=name)
    log = tbp.open(tmp_path)
    rows = log.diff(run="new", base=tbp.Selection("old")).rows
    assert {row.name: row.status for row in rows} == {"aten::mm": "gone", "aten::add": "new"}
    assert log.diff(run="new", base=tbp.Selection("new", rank=0, span=1)).rows[0].status == "both"


def test_reload_finds_new_traces(tmp_path: Path) -> None:
    log = tbp.open(str(tmp_path))
    with pytest.raises(TraceError, match="no traces"):
        log.trace()
    trace(tmp_path / "r" / "host_1.1.pt.trace.json")
    log.reload()
    assert len(log.trace().ops) == 4


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="no view 'ghost'"):
        _ = tbp.open(tmp_path).ghost  # type: ignore[attr-defined]
    with pytest.raises(TraceError, match="no file or directory"):
        tbp.open(tmp_path / "nowhere")
    with pytest.raises(AttributeError, match="ghost"):
        _ = tbp.ghost  # type: ignore[attr-defined]


def test_importing_the_package_costs_nothing() -> None:
    code = (
        "import sys, tb_privateuse1 as tbp\n"
        "assert not {'numpy', 'torch', 'msgspec', 'pyarrow'} & set(sys.modules)\n"
        "print(tbp.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == __version__
    assert tbp.__version__ == __version__


@pytest.mark.long
def test_capture_is_at_hand() -> None:
    pytest.importorskip("torch")
    assert callable(tbp.capture.profile)
