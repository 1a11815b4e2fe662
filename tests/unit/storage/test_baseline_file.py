"""Baseline files: a round trip, readable lines, and bad files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import asdict

from tb_privateuse1.analysis.comparison.baseline import Metric, Operator, Workload
from tb_privateuse1.analysis.comparison.run_figures import Recorded
from tb_privateuse1.analysis.comparison.step_figures import StepFigure
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.storage.baseline_file import SCHEMA, read_baseline, write_workload
from tb_privateuse1.trace.errors import TraceError

RUN = StepFigure(4, 10, 11, 12, 13, 20)
FUNCTION = ProgramFunction("f", "train.py", 3, (5, 7), "source", 5, None, "f (train.py:3)")
WORKLOAD = Workload(
    Recorded("2.13.0", "refdev", "generic", "measured", None, ("float32",), ("with_stack",)),
    "device",
    {"step": Metric("ns", 0, (RUN, RUN)), "memory": Metric("bytes", None, (RUN,))},
    {'odd "name" ÷': Operator(3, 2.0, 1.5, (RUN, RUN), FUNCTION)},
    ("aten::tail",),
    "0.1.0",
)


def test_a_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    write_workload(file, "train", WORKLOAD)
    assert read_baseline(file).workloads == {"train": WORKLOAD}
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


def test_a_run_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    write_workload(file, "train", WORKLOAD)
    lines = [line.strip().rstrip(",") for line in file.read_text().splitlines()]
    run = '{"steps": 4, "least": 10, "low": 11, "median": 12, "high": 13, "most": 20}'
    assert lines.count(run) == 5
    assert '"float_types": ["float32"]' in lines
    before = file.read_text()
    write_workload(file, "train", WORKLOAD)
    assert file.read_text() == before


def broken(**changes: object) -> str:
    step = {"unit": "ns", "bound": 0, "runs": [{**asdict(RUN), **changes}]}
    recorded = {**asdict(WORKLOAD.recorded)}
    workload = {"recorded": recorded, "time": "device", "metrics": {"step": step}, "operators": {}}
    return json.dumps({"schema": SCHEMA, "workloads": {"w": workload}})


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{", '{"schema": "other/1", "workloads": {}}', "[" * 5000, '"\udcff"',
        '{"schema": "tb_privateuse1.baseline/1", "workloads": {"w": {}}}',
        broken(least=-1), broken(median=99), broken(steps=0), broken(most=None), broken(low=1e400),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "b.json"
    file.write_text(content, errors="surrogateescape")
    with pytest.raises(TraceError) as raised:
        read_baseline(file)
    assert raised.value.code == "bad_baseline"
    with pytest.raises(TraceError):
        write_workload(file, "train", WORKLOAD)


def test_a_good_one_is_not_refused(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(broken())
    assert read_baseline(file).workloads["w"].metrics["step"].runs == (RUN,)


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="There is no baseline"):
        read_baseline(tmp_path / "b.json")
