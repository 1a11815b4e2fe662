"""The catalog of a logdir: runs, spans, sidecars and selection."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import pytest

from tb_privateuse1.discovery import (
    catalog,
    formats,
    recording_folders,
    roots,
    trace_head,
    workers,
)
from tb_privateuse1.discovery.file import file_at
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.readers import READERS
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tests.support.listing import layout, only_run
from tests.support.shared_traces import FOLDER, needs_traces
from tests.support.trace_files import events, sidecar, trace, write


def test_runs_are_directories_named_by_their_path(tmp_path: Path) -> None:
    root = tmp_path / "log"
    trace(root / "host_1.100.pt.trace.json")
    trace(root / "run10" / "host_1.100.pt.trace.json.gz")
    trace(root / "run9" / "deep" / "host_1.100.pt.trace.json.gz")
    (root / "empty").mkdir()
    assert list(layout(root)) == ["log", "run9/deep", "run10"]


def test_the_roots_name_yields_to_a_directory_of_the_same_name(tmp_path: Path) -> None:
    root = tmp_path / "log"
    trace(root / "a.1.pt.trace.json")
    trace(root / "log" / "a.1.pt.trace.json")
    assert list(layout(root)) == [".", "log"]


def test_spans_sort_as_numbers(tmp_path: Path) -> None:
    for stamp in (9, 10, 100, 2):
        trace(tmp_path / "r" / f"host_1.{stamp}.pt.trace.json")
    assert layout(tmp_path) == {"r": {0: ["2", "9", "10", "100"]}}
    assert [s.span for s in only_run(tmp_path).workers[0].spans] == [1, 2, 3, 4]


def test_stamps_in_ms_and_ns_sort_by_the_time_they_mean(tmp_path: Path) -> None:
    trace(tmp_path / "r" / "w.1700000005000.pt.trace.json")
    trace(tmp_path / "r" / "w.1700000001000000000.pt.trace.json")
    assert layout(tmp_path)["r"] == {0: ["1700000001000000000", "1700000005000"]}


def test_ranks_in_file_names_of_users(tmp_path: Path) -> None:
    for name in ("rank-12.json", "rank3.json.gz", "prof_4.json", "x_rank_5_step7.trace.json"):
        trace(tmp_path / "r" / name)
    write(tmp_path / "r" / "rank6.json", events())
    assert [w.rank for w in only_run(tmp_path).workers] == [3, 4, 5, 6, 12]
    assert {w.rank_source for w in only_run(tmp_path).workers} == {"name"}


def test_other_json_is_no_trace(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    write(folder / "truth.json.gz", [{"kernel": "mm", "start_ns": 1}])
    write(folder / "kernel_event_0.json.gz", {"mm_1_1": {"kernel_time": 3}})
    sidecar(folder / "host_1.1.kernel_event.json")
    write(folder / "config.json", {"note": "traceEvents"})
    (folder / "broken.json").write_bytes(b"\x1f\x8bnot gzip")
    (folder / "empty.json").write_bytes(b"")
    os.mkfifo(folder / "pipe.pt.trace.json")
    assert layout(tmp_path) == {}


def test_a_broken_trace_of_the_handler_is_listed_so_that_its_error_can_be_seen(
    tmp_path: Path,
) -> None:
    content = {"distributedInfo": {"rank": 5}, "traceEvents": events() * 400}
    whole = write(tmp_path / "whole.json.gz", content)
    cut = tmp_path / "r" / "host_1.1.pt.trace.json.gz"
    cut.parent.mkdir()
    cut.write_bytes(whole.read_bytes()[:-20])
    (tmp_path / "r" / "host_2.1.pt.trace.json").write_bytes(b"")
    assert layout(tmp_path / "r") == {"r": {5: ["1"], 0: ["1"]}}


def test_links_are_followed_and_loops_are_not(tmp_path: Path) -> None:
    root = tmp_path / "log"
    trace(root / "a" / "host_1.1.pt.trace.json")
    outside = trace(tmp_path / "data" / "run" / "host_1.1.pt.trace.json")
    (root / "a" / "up").symlink_to(root)
    (root / "A_link").symlink_to(root / "a")
    (root / "exp").symlink_to(tmp_path / "data")
    (root / "round").symlink_to(root / "round")
    (root / "b").mkdir()
    (root / "b" / "linked.json").symlink_to(outside)
    assert list(layout(root)) == ["a", "b", "exp/run"]


def test_links_that_lead_out_may_be_refused(tmp_path: Path) -> None:
    root = tmp_path / "log"
    trace(root / "a" / "host_1.1.pt.trace.json")
    outside = trace(tmp_path / "data" / "run" / "host_1.1.pt.trace.json")
    (root / "out").symlink_to(tmp_path / "data")
    (root / "machine").symlink_to("/")
    (root / "to_b").symlink_to(root / "b")
    trace(root / "b" / ".hidden" / "host_2.1.pt.trace.json")
    (root / "b" / "host_2.1.pt.trace.json").symlink_to(root / "b/.hidden/host_2.1.pt.trace.json")
    (root / "a" / "host_3.1.pt.trace.json").symlink_to(outside)
    (root / "a" / "host_4.1.pt.trace.json").symlink_to(root / "none")
    (tmp_path / "named").symlink_to(root)  # the user names the root itself
    warnings: list[Finding] = []
    roots = [("", str(tmp_path / "named"))]
    entries = [*catalog.walk(roots, Heads(READERS), warnings, [], links_out=False)]
    assert sorted(run.run for run, _ in entries) == ["a", "b"]
    assert [len(files) for _, files in entries] == [1, 1]
    (finding,) = warnings
    assert (finding.code, finding.count) == ("links_out", 3)
    assert "machine, out" in str(finding.message) or "out, machine" in str(finding.message)


def test_many_links_to_each_other_end(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"d{number}").mkdir()
        for other in ("x", "y"):
            (tmp_path / f"d{number}" / other).symlink_to(tmp_path / f"d{(number + 1) % 30}")
    trace(tmp_path / "d29" / "host_1.1.pt.trace.json")
    assert list(layout(tmp_path)) == ["d29"]


def test_hidden_files_and_directories_are_left_out(tmp_path: Path) -> None:
    trace(tmp_path / ".git" / "host_1.1.pt.trace.json")
    trace(tmp_path / "r" / ".host_1.1.pt.trace.json")
    assert layout(tmp_path) == {}


def test_odd_names_are_shown_and_found(tmp_path: Path) -> None:
    markup = "<img src=x onerror=alert(1)>&\n"
    trace(tmp_path / markup / "a b\u202e.1.pt.trace.json")
    raw = os.fsencode(str(tmp_path)) + b"/\xff\xfe"
    Path(os.fsdecode(raw)).mkdir()
    trace(Path(os.fsdecode(raw)) / "host_1.1.pt.trace.json")
    found = catalog.scan(str(tmp_path), READERS)
    assert [run.run for run in found.runs.runs] == [markup, "\\xff\\xfe"]
    for run in found.runs.runs:
        assert run.run.encode()  # fit for JSON
        assert Path(found.find(run.run).trace.path).exists()


def test_unreadable_directories_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace(tmp_path / "open" / "host_1.1.pt.trace.json")
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def guarded(path: Path) -> object:  # file modes do not keep root out
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    found = catalog.scan(str(tmp_path), READERS).runs
    assert [run.run for run in found.runs] == ["open"]
    (warning,) = found.warnings
    assert warning.code == "unreadable_directory"
    assert "closed" in warning.message


def test_only_listed_runs_can_be_opened(tmp_path: Path) -> None:
    trace(tmp_path / "log" / "r" / "host_1.1.pt.trace.json")
    trace(tmp_path / "secret" / "host_1.1.pt.trace.json")
    found = catalog.scan(str(tmp_path / "log"), READERS)
    for run in ("../secret", str(tmp_path / "secret"), "r/../../secret", "R", ""):
        with pytest.raises(TraceError) as caught:
            found.find(run)
        assert caught.value.code == "unknown_run"
        assert caught.value.hint == "There is: r."
    with pytest.raises(TraceError, match="no rank 1") as caught:
        found.find("r", 1)
    assert caught.value.code == "unknown_rank"
    with pytest.raises(TraceError, match="no span 0") as caught:
        found.find("r", 0, 0)
    assert caught.value.code == "unknown_span"


def test_an_empty_logdir_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        catalog.scan(str(tmp_path), READERS).find()
    assert caught.value.code == "unknown_run"
    assert caught.value.hint
    assert "capture" in caught.value.hint


@pytest.mark.parametrize(
    ("path", "code"),
    [("nowhere", "no_such_path"), ("~nobody_here/x", "no_such_path"), ("a\0b", "no_such_path"),
     ("nofs://bucket/log", "remote_driver")],
)  # fmt: skip
def test_paths_that_cannot_be_scanned(path: str, code: str) -> None:
    with pytest.raises(TraceError) as caught:
        catalog.scan(path, READERS)
    assert caught.value.code == code


def test_a_single_file_with_its_sidecar(tmp_path: Path) -> None:
    path = trace(tmp_path / "r" / "any name at all", rank=3)
    trace(tmp_path / "r" / "rank0.json")
    recipe = write(tmp_path / "r" / "kernel_event_3.json", {})
    found = catalog.scan(str(path), READERS)
    assert [(run.run, len(run.workers)) for run in found.runs.runs] == [("r", 1)]
    files = found.find(rank=3)
    assert files.trace.path == str(path)
    assert files.sidecar is not None
    assert files.sidecar.path == str(recipe)
    assert files.names == ("any name at all", "kernel_event_3.json")


def test_an_earlier_single_file_does_not_take_the_recipes_sidecar(tmp_path: Path) -> None:
    early = trace(tmp_path / "r" / "w.1.pt.trace.json", rank=0)
    late = trace(tmp_path / "r" / "w.2.pt.trace.json", rank=0)
    write(tmp_path / "r" / "kernel_event_0.json", {})
    assert catalog.scan(str(early), READERS).find().sidecar is None
    assert catalog.scan(str(late), READERS).find().sidecar is not None


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a:/x,/y/z", [("a", "/x"), ("z", "/y/z")]),
        ("/x:y", [("x:y", "/x:y")]),
        ("s3://b/c", [("c", "s3://b/c")]),
        ("n:s3://b/c,", [("n", "s3://b/c")]),
        (
            "https://me:secret@host/run%201?sig=secret",
            [("run 1", "https://me:secret@host/run%201?sig=secret")],
        ),
        ("https://me:secret@host", [("host", "https://me:secret@host")]),
        ("", []),
    ],
)
def test_logdir_spec_is_read_as_tensorboard_does(text: str, pairs: list[tuple[str, str]]) -> None:
    assert roots.parse_spec(text) == pairs


def test_named_roots(tmp_path: Path) -> None:
    trace(tmp_path / "x" / "host_1.1.pt.trace.json")
    trace(tmp_path / "x" / "sub" / "host_1.1.pt.trace.json")
    trace(tmp_path / "y" / "host_1.1.pt.trace.json")
    found = catalog.scan("", READERS, [("a", str(tmp_path / "x")), ("a", str(tmp_path / "y"))])
    assert [run.run for run in found.runs.runs] == ["a", "a'", "a/sub"]
    assert [warning.code for warning in found.runs.warnings] == ["run_name_collision"]
    assert found.runs.logdir.startswith("a:")


def long_after() -> int:
    """Return a time at which no file is being written any more."""
    return time.time_ns() + 3600 * 10**9


def test_heads_are_read_once_per_state_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    original = trace_head._sniff
    monkeypatch.setattr(trace_head, "_sniff", lambda *a: looked.append(1) or original(*a))
    path = trace(tmp_path / "r" / "host_1.1.pt.trace.json", rank=1)
    trace(tmp_path / "r" / "host_2.1.pt.trace.json", rank=2)
    heads = Heads(READERS, clock=long_after)
    for _ in range(3):
        catalog.scan(str(tmp_path), READERS, heads=heads)
        heads.forget_unused()
    assert len(looked) == 2
    trace(path, rank=1, note="changed")
    catalog.scan(str(tmp_path), READERS, heads=heads)
    assert len(looked) == 3


def test_runs_are_made_once_per_state_of_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    original = catalog._runs_and_others
    monkeypatch.setattr(catalog, "_runs_and_others", lambda *a: made.append(a[0]) or original(*a))
    path = trace(tmp_path / "a" / "host_1.1.pt.trace.json", rank=1)
    trace(tmp_path / "b" / "host_2.1.pt.trace.json", rank=2)
    heads = Heads(READERS, clock=long_after)

    def scan() -> list[str]:
        made.clear()
        found = catalog.scan(str(tmp_path), READERS, heads=heads)
        heads.forget_unused()
        names = made.copy()
        assert found == catalog.scan(str(tmp_path), READERS), "what a first search finds"
        return names

    assert scan() == [tmp_path.name, "a", "b"]
    assert scan() == []
    trace(path, rank=4, note="grown")
    assert scan() == ["a"]
    trace(tmp_path / "a" / "other_7.1.pt.trace.json", rank=7)
    assert scan() == ["a"]
    (tmp_path / "b").rename(tmp_path / "c")
    assert scan() == ["c"]
    assert scan() == []
    path.unlink()
    assert scan() == ["a"]


def test_a_file_that_could_not_be_read_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace(tmp_path / "r" / "renamed.json", rank=3)
    heads, look = Heads(READERS), trace_head._look

    def unreadable(*_: object) -> object:
        raise PermissionError

    monkeypatch.setattr(trace_head, "_look", unreadable)
    assert catalog.scan(str(tmp_path), READERS, heads=heads).runs.runs == ()
    heads.forget_unused()
    monkeypatch.setattr(trace_head, "_look", look)
    found = catalog.scan(str(tmp_path), READERS, heads=heads)
    assert [worker.rank for worker in found.runs.runs[0].workers] == [3]


@pytest.mark.long
def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "r" / "host_1.1.pt.trace.json.gz"
    bomb.parent.mkdir()
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        file.write(b'{"a": "')
        for _ in range(200):
            file.write(b"x" * (1 << 20))
    assert Heads(READERS).trace(catalog.file_at(str(bomb))).rank is None
    assert trace_head._MOST <= 4 << 20


def test_deleted_while_it_is_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace(tmp_path / "r" / "host_1.1.pt.trace.json", rank=3)
    found = catalog.discovery_walk._sort

    def then_delete(*arguments: object) -> object:
        result = found(*arguments)  # type: ignore[arg-type]
        path.unlink(missing_ok=True)
        return result

    monkeypatch.setattr(catalog.discovery_walk, "_sort", then_delete)
    assert layout(tmp_path / "r") == {"r": {0: ["1"]}}


@pytest.mark.parametrize("name", ["x.PT.TRACE.json.gz", "x.pt.trace.json", "x.json.zst", "x.json"])
def test_a_stem_is_without_the_longest_ending(name: str) -> None:
    plain = formats.Format(
        name="one",
        suffixes=(".json", ".pt.trace.json"),
        sniff=lambda text: trace_head.Signs(False, formats.DistributedInfo(), True),
    )
    assert formats.stem(name, [plain]) == "x"
    assert formats.stem("x.txt", [plain]) is None


def test_ranks_are_not_compared_with_each_other(tmp_path: Path) -> None:
    """Comparisons of recordings grow with their number, not with its square."""
    compared = 0

    class Counted(workers.WorkerRecording, frozen=True, dict=True):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return self is other

        __hash__ = None  # type: ignore[assignment]

    path = trace(tmp_path / "host_1.1.pt.trace.json")
    found = [
        Counted(file_at(str(path)), rank, 100, READERS, (f"host_{rank}", None))
        for rank in range(100)
    ]
    assert recording_folders.of_no_rank(found, (), Heads(READERS)) == []
    assert compared <= len(found)


@needs_traces
def test_the_shared_traces() -> None:
    found = catalog.scan(str(FOLDER), READERS)
    traces = [*FOLDER.glob("*/*/*.pt.trace.json.gz"), *FOLDER.glob("*/*/trace_view.json")]
    assert {files.trace.path for files in found.files.values()} == {str(t) for t in traces}
    assert found.find("cpu/rank34").rank == 34
    assert [w.rank for r in found.runs.runs for w in r.workers if "128" in r.run] == [0, 1]
    assert found.runs.warnings == ()
    assert all(run.warnings == () for run in found.runs.runs)
    for path in FOLDER.glob("*/*/*.kernel_event.json.gz"):
        files = found.find(path.parent.relative_to(FOLDER).as_posix())
        assert files.sidecar is not None
        assert files.sidecar.path == str(path)
