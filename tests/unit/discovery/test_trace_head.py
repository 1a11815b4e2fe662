"""Facts that need a whole file: labels of merged ranks, and work of a device."""

import gzip
import json
import os
from pathlib import Path

import pytest

import tb_privateuse1
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.file import file_at
from tb_privateuse1.discovery.trace_head import Heads, has_device_work, labels_in
from tb_privateuse1.readers import READERS
from tests.support.make import document, kernel, op
from tests.support.trace_files import trace


def _write(path: Path, *events: dict[str, object], spaces: int = 0) -> Path:
    text = json.dumps(document(*events)).replace("}, {", "}," + " " * spaces + "{").encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_labels_of_all_ranks_in_the_files_order(tmp_path: Path, name: str) -> None:
    events = [{**op("aten::mm", 0, 9), "pid": f"[TP0{rank}] 1000"} for rank in (1, 0, 1)]
    path = _write(tmp_path / name, *events, spaces=3 << 20)
    assert labels_in(file_at(str(path))) == ("[TP01]", "[TP00]")


@pytest.mark.parametrize("label", ["rank{}:", "Rank {}", "rank_{}", "[rank {}]"])
def test_ranks_by_their_word_open_as_ranks(tmp_path: Path, label: str) -> None:
    events = [
        {**op(name, 0, 9), "pid": f"{label.format(rank)} 1000"}
        for rank, name in ((0, "aten::mm"), (1, "aten::relu"))
    ]
    _write(tmp_path / "merged.json", *events)
    log = tb_privateuse1.open(tmp_path)
    (run,) = log.runs.runs
    assert [(worker.rank, worker.rank_source) for worker in run.workers] == [
        (0, "name"), (1, "name"),
    ]  # fmt: skip
    t = log.trace(rank=1)
    assert [t.text(name) for name in t.ops.name] == ["aten::relu"]


def test_categories_say_that_a_device_worked(tmp_path: Path) -> None:
    host = op("aten::memcpy_kernel", 0, 9)
    assert not has_device_work(file_at(str(_write(tmp_path / "a.json", host))))
    device = _write(tmp_path / "b.json", host, kernel("gemm", 0, 5), spaces=3 << 20)
    assert has_device_work(file_at(str(device)))


@pytest.mark.parametrize("size", [2, 10, 12])
def test_a_packed_file_that_ends_in_its_first_bytes_has_no_device_work(
    tmp_path: Path, size: int
) -> None:
    cut = tmp_path / "a.json.gz"
    cut.write_bytes(gzip.compress(b'{"cat": "kernel"}')[:size])
    assert not has_device_work(file_at(str(cut)))
    assert labels_in(file_at(str(cut))) == ()


def test_a_rank_that_is_being_written_does_not_hide_its_run(tmp_path: Path) -> None:
    cut = _write(tmp_path / "host_1.rank0.pt.trace.json.gz", kernel("gemm", 0, 5))
    cut.write_bytes(cut.read_bytes()[:10])
    _write(tmp_path / "host_2.server.pt.trace.json.gz", op("aten::mm", 0, 9))
    assert len(tb_privateuse1.open(tmp_path).runs.runs) == 1


def test_two_roots_of_one_name_are_searched_once_while_they_are_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    _write(tmp_path / "b" / "host_0.1.pt.trace.json", op("aten::mm", 0, 9))
    (tmp_path / "a" / "notes.json").write_text("{}")
    heads = Heads(READERS)
    roots = [("x", str(tmp_path / name)) for name in ("a", "b")]
    (first,), (second,) = (list(catalog.walk(roots, heads, [], [])) for _ in range(2))
    assert first is second


@pytest.mark.parametrize(("age_s", "ranks"), [(0, [2]), (-1, [2]), (1.9, [2]), (2, [1])])
def test_a_change_within_a_tick_of_the_file_systems_clock_is_seen(
    tmp_path: Path, age_s: float, ranks: list[int]
) -> None:
    """Size and time stay the same. A file that was older when it was read has no such change."""
    path = tmp_path / "r" / "host.1.pt.trace.json"
    heads = Heads(READERS, clock=lambda: 10**18 + int(age_s * 1e9))
    for rank in (1, 2):
        trace(path, rank=rank)
        os.utime(path, ns=(10**18, 10**18))
        found = catalog.scan(str(tmp_path), READERS, heads=heads)
        heads.forget_unused()
    assert [worker.rank for worker in found.runs.runs[0].workers] == ranks
