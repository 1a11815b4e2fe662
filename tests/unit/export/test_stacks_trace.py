"""Collapsed stacks become a recording whose flame graph has their sums."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from tb_privateuse1.api import open_log
from tb_privateuse1.cli import main
from tb_privateuse1.export import collapsed
from tb_privateuse1.export.stacks_trace import trace_of_stacks
from tb_privateuse1.trace.errors import TraceError
from tests.support.make import frame, trace

LINES = (
    "main.py(3): main;model.py(9): forward;torch/nn(1): linear 120",
    "main.py(3): main;model.py(9): forward 30",
    "",
    "main.py(3): main;optim.py(2): step 50",
    "main.py(3): main;model.py(9): forward 5",
)


def sums(folder: Path) -> dict[str, int]:
    """The own time of each path of the flame graph in ns."""
    paths: list[str] = []
    found: Counter[str] = Counter()
    for row in open_log(folder).flame(window="all", by="host").rows:
        paths.append(row.name if row.parent is None else f"{paths[row.parent]};{row.name}")
        found[paths[-1]] += row.self_ns
    return {path: ns for path, ns in found.items() if ns}


def test_the_flame_graph_has_the_sums_of_the_lines(tmp_path: Path) -> None:
    (tmp_path / "stacks.txt").write_text("\n".join(LINES))
    assert main(["stacks", str(tmp_path / "stacks.txt"), "-o", str(tmp_path / "run")]) == 0
    assert sums(tmp_path / "run") == {
        "main.py(3): main;model.py(9): forward;torch/nn(1): linear": 120_000,
        "main.py(3): main;model.py(9): forward": 35_000,
        "main.py(3): main;optim.py(2): step": 50_000,
    }


def test_what_this_package_writes_comes_back(tmp_path: Path) -> None:
    recorded = trace(
        frame("main", 0, 100), frame("forward", 10, 60), frame("mm", 20, 30), frame("step", 70, 90)
    )
    text = b"".join(collapsed.write(recorded))
    (tmp_path / "own.stacks.txt.gz").write_bytes(gzip.compress(text))
    run = tmp_path / "run"
    assert (
        main(["stacks", str(tmp_path / "own.stacks.txt.gz"), "-o", str(run), "--unit", "ns"]) == 0
    )
    lines = (line.rpartition(" ") for line in text.decode().splitlines())
    assert sums(run) == {stack: int(count) for stack, _, count in lines}


@pytest.mark.parametrize(
    "line", ["no count", "a;b -5", "a;;b 3", "a;b 3.5", ";".join("x" * 3000) + " 1"]
)
def test_a_line_that_is_no_stack_is_named(line: str) -> None:
    with pytest.raises(TraceError) as caught:
        trace_of_stacks(["a;b 1", line], "us")
    assert caught.value.code == "not_stacks"
    assert "2" in caught.value.message


def test_a_file_without_stacks_or_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    for name in ("empty.txt", "missing.txt"):
        assert main(["stacks", str(tmp_path / name), "-o", str(tmp_path / "run")]) != 0
    assert not (tmp_path / "run").exists()
    assert "missing.txt" in capsys.readouterr().err


def test_deep_stacks_need_no_recursion() -> None:
    made = trace_of_stacks([";".join(f"f{i}" for i in range(1_999)) + " 1"], "samples")
    assert len(made["traceEvents"]) == 2_000
    assert json.dumps(made)


@pytest.mark.parametrize("at", [2, 12, -6])
def test_a_damaged_gzip_is_a_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], at: int
) -> None:
    packed = bytearray(gzip.compress(b"a;b 1\n" * 100))
    packed[at] ^= 0xFF
    (tmp_path / "damaged.txt.gz").write_bytes(packed)
    assert main(["stacks", str(tmp_path / "damaged.txt.gz"), "-o", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()
    assert "damaged.txt.gz is a damaged gzip file" in capsys.readouterr().err
