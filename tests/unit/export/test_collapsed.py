"""Collapsed stacks: a line for each place with time of its own, and all of the time."""

from __future__ import annotations

import json
from pathlib import Path

import tb_privateuse1 as tbp
from tb_privateuse1.cli import main
from tb_privateuse1.discovery import catalog
from tb_privateuse1.export import collapsed
from tb_privateuse1.export.time_window import Window
from tb_privateuse1.readers import READERS
from tb_privateuse1.readers.other_files import are_stacks
from tb_privateuse1.trace.model import Trace
from tests.support import make


def lines(trace: Trace, window: Window | None = None) -> dict[str, int]:
    text = b"".join(collapsed.write(trace, window or Window())).decode()
    pairs = (line.rpartition(" ") for line in text.splitlines())
    return {frames: int(count) for frames, _, count in pairs}


def host() -> Trace:
    return make.trace(make.op("outer; one", 0, 10), make.op("inner", 2, 5), make.op("inner", 6, 7))


def test_each_place_has_its_own_time() -> None:
    assert lines(host()) == {"outer one": 6000, "outer one;inner": 4000}


def test_of_a_range_the_part_inside_counts() -> None:
    assert lines(host(), Window(3000, 7000)) == {"outer one": 1000, "outer one;inner": 3000}


def test_device_time_counts_where_there_is_any() -> None:
    trace = make.trace(
        make.op("aten::mm", 0, 10, id=1),
        make.launch(1, 2, correlation=5),
        make.kernel("gemm<a;b>", 20, 50, correlation=5),
    )
    assert lines(trace) == {"aten::mm;gemm<a b>": 30000}


def test_the_command_line_writes_what_is_recognized(tmp_path: Path) -> None:
    path = tmp_path / "log" / "h_1.pt.trace.json"
    path.parent.mkdir()
    document = make.document(make.op("outer", 0, 10), make.op("inner", 2, 5))
    path.write_text(json.dumps(document))
    out = path.parent / "flame.folded"
    assert main(["export", str(path), "--format", "stacks", "-o", str(out)]) == 0
    assert are_stacks(out.read_bytes())
    [warning] = catalog.scan(str(path.parent), READERS).runs.warnings
    assert "collapsed stacks" in warning.message
    assert len(tbp.open(path.parent).trace().ops) == 2
