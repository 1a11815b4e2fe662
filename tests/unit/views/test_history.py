"""All recordings of a logdir: what is ready, in order of time, and its trend."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.views.history import History, figures, history
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, parse_request
from tests.support import make
from tests.support.event_files import event_file
from tests.support.trace_files import trace, write

MILLISECOND_US = 1000


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path / "cache"))


def recording(path: Path, step_ms: float, at_s: int) -> Path:
    """Two steps of a length, written at a time."""
    length = step_ms * MILLISECOND_US
    write(
        path,
        make.document(
            make.step(5, 100, 100 + length),
            make.op("aten::mm", 110, 120),
            make.step(6, 100 + length, 100 + 2 * length),
            make.op("aten::mm", 110 + length, 120 + length),
        ),
    )
    os.utime(path, (at_s, at_s))
    return path


def reader(folder: Path) -> Reader:
    return Reader(Store(jobs=0), catalog.scan(str(folder), READERS))


def ask(folder: Path, **texts: str) -> History:
    result: History = reader(folder).run(parse_request("history", texts))
    return result


def test_all_recordings_the_oldest_first(tmp_path: Path) -> None:
    recording(tmp_path / "log" / "a" / "host_0.2.pt.trace.json", 2, at_s=300)
    recording(tmp_path / "log" / "a" / "host_0.1.pt.trace.json", 1, at_s=100)
    recording(tmp_path / "log" / "b" / "host_0.1.pt.trace.json", 3, at_s=200)
    recording(tmp_path / "log" / "b" / "host_1.1.pt.trace.json", 9, at_s=200)
    found = ask(tmp_path / "log")
    assert [(r.run, r.rank, r.span, r.ranks) for r in found.rows] == [
        ("a", 0, 1, 1), ("b", 0, 1, 2), ("a", 0, 2, 1),
    ]  # fmt: skip
    assert [r.step_ns for r in found.rows] == [1_000_000, 3_000_000, 2_000_000]
    assert [r.written_ns for r in found.rows] == [at * 10**9 for at in (100, 200, 300)]
    assert {(r.first_step, r.steps, r.state) for r in found.rows} == {(5, 2, "read")}
    assert found.waiting == 0


def test_figures_are_those_of_the_overview(tmp_path: Path) -> None:
    recording(tmp_path / "log" / "a" / "host_0.1.pt.trace.json", 1, at_s=100)
    source = reader(tmp_path / "log")
    (row,) = source.run(Request(history)).rows
    shown = source.run(Request(overview))
    assert row.step_ns == shown.average_step_ns
    assert row.utilization == shown.utilization
    assert row.verdict == (shown.verdict and shown.verdict.sentence)


def test_without_steps_there_is_no_step_time(tmp_path: Path) -> None:
    write(tmp_path / "log" / "a" / "x.1.pt.trace.json", make.document(make.op("aten::mm", 1, 9)))
    (row,) = ask(tmp_path / "log").rows
    assert (row.state, row.step_ns, row.steps, row.first_step) == ("read", None, 0, None)


def test_runs_are_chosen_by_their_names(tmp_path: Path) -> None:
    for run in ("base_lr1", "Base_lr2", "other"):
        trace(tmp_path / "log" / run / "host_0.1.pt.trace.json", rank=0)
    assert {r.run for r in ask(tmp_path / "log", matching="bASE").rows} == {"base_lr1", "Base_lr2"}
    assert ask(tmp_path / "log", matching="none").rows == ()


def test_a_broken_recording_says_why(tmp_path: Path) -> None:
    recording(tmp_path / "log" / "a" / "host_0.1.pt.trace.json", 1, at_s=100)
    (tmp_path / "log" / "a" / "host_0.2.pt.trace.json").write_text("{")
    good, bad = ask(tmp_path / "log").rows
    assert (good.state, good.problem) == ("read", None)
    assert bad.state == "failed"
    assert bad.problem
    assert bad.step_ns is None


def test_what_is_not_ready_waits(tmp_path: Path) -> None:
    recording(tmp_path / "log" / "a" / "host_0.1.pt.trace.json", 1, at_s=100)
    source = reader(tmp_path / "log")
    before = source.run(Request(history, deadline_s=time.monotonic()))
    assert [r.state for r in before.rows] == ["waiting"]
    assert before.waiting == 1
    assert source.run(Request(history)).waiting == 0
    # What was read stays read, however late it is.
    assert source.run(Request(history, deadline_s=time.monotonic())).waiting == 0


@pytest.mark.long
def test_a_change_begins_a_level(tmp_path: Path) -> None:
    lengths = [1.0, 1.01, 0.99, 1.0, 1.3, 1.31, 1.29, 1.3]
    for i, length in enumerate(lengths):
        recording(tmp_path / "log" / f"r{i}" / "host_0.1.pt.trace.json", length, at_s=100 + i)
    found = ask(tmp_path / "log")
    assert [(level.first, level.last) for level in found.levels] == [(0, 3), (4, 7)]
    assert found.levels[0].change is None
    assert found.levels[1].change == pytest.approx(0.3, abs=0.01)
    assert found.outside == ()


def test_rows_without_the_figure_are_skipped(tmp_path: Path) -> None:
    write(tmp_path / "log" / "a" / "x.1.pt.trace.json", make.document(make.op("aten::mm", 1, 9)))
    os.utime(tmp_path / "log" / "a" / "x.1.pt.trace.json", (1, 1))
    for i in range(3):
        recording(tmp_path / "log" / f"r{i}" / "host_0.1.pt.trace.json", 1 + i / 100, at_s=9 + i)
    (level,) = ask(tmp_path / "log").levels
    assert (level.first, level.last) == (1, 3)
    assert ask(tmp_path / "log", figure="mfu").levels == ()


@pytest.mark.parametrize(("device_type", "peak"), [(0, None), (20, 64)])
def test_memory_of_the_host_is_not_that_of_the_device(device_type: int, peak: int | None) -> None:
    """The list had a peak of 8 B for a GPU whose allocator was off: an index on the CPU."""
    made = make.trace(
        make.op("aten::add", 0, 10),
        make.launch(2, 3, 1),
        make.kernel("add", 5, 9, 1),
        make.memory(4, 64, 64, device_type),
    )
    assert figures(made).memory_peak_bytes == peak


def with_metadata(path: Path, **keys: Any) -> Path:
    """A recording whose program added metadata."""
    write(path, make.document(make.step(5, 0, 10), make.op("a", 1, 2), **keys))
    return path


def of_run(found: History) -> dict[str, dict[str, tuple[str, float | None, str]]]:
    return {
        row.run: {one.name: (one.value, one.number, one.source) for one in row.parameters}
        for row in found.rows
    }


def test_parameters_of_metadata_and_of_the_environment(tmp_path: Path) -> None:
    for i, batch in enumerate((8, 16)):
        with_metadata(
            tmp_path / f"run{i}" / "x.1.pt.trace.json", batch=str(batch), note="same",
            config={"lr": 0.1, "flags": [1, 2], "deep": {"fused": True}}, torch_version="2.13.0",
        )  # fmt: skip
    found = ask(tmp_path)
    assert of_run(found)["run1"] == {
        "batch": ("16", 16.0, "metadata"), "note": ("same", None, "metadata"),
        "config.lr": ("0.1", 0.1, "metadata"), "config.flags": ("[1, 2]", None, "metadata"),
        "config.deep.fused": ("true", None, "metadata"),
        "torch": ("2.13.0", None, "environment"),
    }  # fmt: skip
    assert found.parameters == ("batch",)


def test_hyperparameters_of_tensorboard_beside_a_recording(tmp_path: Path) -> None:
    """``add_hparams`` writes into a folder of its own, XProf's layout has the run's further up."""
    with_metadata(tmp_path / "near" / "x.1.pt.trace.json", lr="9")
    event_file(tmp_path / "near", {"lr": 0.1})
    with_metadata(tmp_path / "inside" / "x.1.pt.trace.json")
    event_file(tmp_path / "inside" / "1690000000.5", {"lr": 0.2, "name": "b"})
    with_metadata(tmp_path / "up" / "plugins" / "profile" / "t" / "x.1.pt.trace.json")
    event_file(tmp_path / "up", {"lr": 0.4, "name": "c"})
    found = ask(tmp_path)
    assert of_run(found) == {
        "near": {"lr": ("0.1", 0.1, "hparams")},
        "inside": {"lr": ("0.2", 0.2, "hparams"), "name": ("b", None, "hparams")},
        "up/plugins/profile/t": {"lr": ("0.4", 0.4, "hparams"), "name": ("c", None, "hparams")},
    }
    assert found.parameters == ("lr", "name")


def test_hyperparameters_of_other_runs_do_not_count(tmp_path: Path) -> None:
    with_metadata(tmp_path / "log" / "x.1.pt.trace.json")
    with_metadata(tmp_path / "log" / "other" / "x.1.pt.trace.json")
    event_file(tmp_path / "log" / "other", {"lr": 0.2})
    event_file(tmp_path, {"lr": 0.9})
    assert of_run(ask(tmp_path / "log")) == {"log": {}, "other": {"lr": ("0.2", 0.2, "hparams")}}


def test_sessions_that_contradict_each_other_leave_a_parameter_out(tmp_path: Path) -> None:
    with_metadata(tmp_path / "a" / "x.1.pt.trace.json")
    event_file(tmp_path / "a" / "1", {"lr": 0.1, "depth": 3.0})
    event_file(tmp_path / "a" / "2", {"lr": 0.2, "depth": 3.0})
    assert of_run(ask(tmp_path)) == {"a": {"depth": ("3", 3.0, "hparams")}}


def test_what_most_recordings_have_comes_first(tmp_path: Path) -> None:
    for name, values in (("a", {"seed": 1.0, "lr": 0.1}), ("b", {"lr": 0.2}), ("c", {"lr": 0.3})):
        with_metadata(tmp_path / name / "x.1.pt.trace.json")
        event_file(tmp_path / name, values)
    assert ask(tmp_path).parameters == ("lr", "seed")


def test_a_parameter_that_is_no_number_is_kept(tmp_path: Path) -> None:
    with_metadata(tmp_path / "a" / "x.1.pt.trace.json")
    event_file(tmp_path / "a" / "1", {"lr": math.nan})
    event_file(tmp_path / "a" / "2", {"lr": math.nan, "most": math.inf})
    assert of_run(ask(tmp_path)) == {
        "a": {"lr": ("NaN", None, "hparams"), "most": ("Infinity", None, "hparams")}
    }


DEEP = {
    "cut": "[" * 5000,
    "lists": "[" * 900 + "]" * 900,
    "mappings": '{"a":' * 900 + "1" + "}" * 900,
}


@pytest.mark.parametrize("config", DEEP.values(), ids=DEEP)
def test_metadata_as_deep_as_no_configuration_harms_nothing(tmp_path: Path, config: str) -> None:
    with_metadata(tmp_path / "a" / "x.1.pt.trace.json", config=config, lr="0.1")
    assert of_run(ask(tmp_path))["a"]["lr"] == ("0.1", 0.1, "metadata")


def test_all_ranks_have_rows_and_the_lowest_ones_the_trend(tmp_path: Path) -> None:
    for at_s in (100, 200, 300):
        for rank, length in ((0, 1), (1, 9)):
            recording(tmp_path / f"run{at_s}" / f"host_{rank}.1.pt.trace.json", length, at_s=at_s)
    found = ask(tmp_path, ranks="all")
    assert sorted((row.run, row.rank) for row in found.rows) == [
        (f"run{at_s}", rank) for at_s in (100, 200, 300) for rank in (0, 1)
    ]
    assert [level.median for level in found.levels] == pytest.approx([1_000_000])
    assert [row.rank for row in ask(tmp_path).rows] == [0, 0, 0]
