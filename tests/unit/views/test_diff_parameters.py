"""Parameters that differ between two runs: TensorBoard's, the program's, and the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tb_privateuse1.api import open_log
from tb_privateuse1.views.request import Selection
from tests.support import make
from tests.support.event_files import event_file
from tests.support.trace_files import write


def run(folder: Path, **keys: Any) -> None:
    """A recording whose program added metadata."""
    events = (make.step(5, 0, 10), make.op("a", 1, 2))
    write(folder / "x.1.pt.trace.json", make.document(*events, **keys))


def found(log: Path) -> list[tuple[str, str, str | None, str | None]]:
    result = open_log(log).diff(run="now", base=Selection("base"))
    return [(one.source, one.name, one.base, one.now) for one in result.parameters]


def test_what_differs_is_listed_by_its_source(tmp_path: Path) -> None:
    run(tmp_path / "base", batch="8", note="same", torch_version="2.12.0")
    run(tmp_path / "now", batch="16", note="same", extra="1", torch_version="2.13.0")
    event_file(tmp_path / "base", {"lr": 0.1, "depth": 3.0})
    event_file(tmp_path / "now", {"lr": 0.2, "depth": 3.0})
    assert found(tmp_path) == [
        ("hparams", "lr", "0.1", "0.2"),
        ("metadata", "batch", "8", "16"),
        ("metadata", "extra", None, "1"),
        ("environment", "torch", "2.12.0", "2.13.0"),
    ]


def test_equal_runs_have_none_and_a_number_is_one_however_written(tmp_path: Path) -> None:
    run(tmp_path / "base", batch="8")
    run(tmp_path / "now", batch="8.0")
    assert found(tmp_path) == []


def test_the_id_that_torch_gives_each_recording_is_no_parameter(tmp_path: Path) -> None:
    run(tmp_path / "base", trace_id="21AEBF22D7E4")
    run(tmp_path / "now", trace_id="452C0DD138E7")
    assert found(tmp_path) == []


def test_the_pages_of_a_recording_are_no_parameters(tmp_path: Path) -> None:
    run(tmp_path / "base", memory_pages={"faults": 3})
    run(tmp_path / "now", memory_pages={"faults": 5})
    assert found(tmp_path) == []
