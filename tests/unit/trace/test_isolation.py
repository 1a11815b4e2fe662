"""An item that fails costs itself only: its place says what failed, without a directory."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from werkzeug.test import Client

from tb_privateuse1 import readers
from tb_privateuse1.advice.rank_engine import advise_ranks
from tb_privateuse1.advice.rank_rules import RANK_RULES
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.export.reports.html import contents
from tb_privateuse1.export.reports.summary import markdown
from tb_privateuse1.inference import collective_entries
from tb_privateuse1.readers import READERS, flight_recorder
from tb_privateuse1.server.agents.answers import Answers, parse_call
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.server.static_files import PLUGIN
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.interruption import Interrupted
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Selection, parse_request
from tb_privateuse1.views.sources.trace_parts import Parts
from tests.support import make, trace_files
from tests.support.flight_recorders import Rank

overview = importlib.import_module("tb_privateuse1.views.overview")  # not the view of that name
SECRET = "/home/somebody/secret"


def fails(*_: object, **__: object) -> Any:
    raise ValueError("a mistake")


def write(folder: Path, name: str) -> Path:
    return trace_files.write(folder / name, make.document(make.step(1, 0, 9), make.op("mm", 1, 5)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a logdir of two runs; the first has two ranks."""
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path / "cache"))
    for name in (
        "a/host_0.1.pt.trace.json",
        "a/host_1.1.pt.trace.json",
        "b/host_0.1.pt.trace.json",
    ):
        write(tmp_path / "log", name)
    return tmp_path / "log"


def ask(folder: Path, view: str, **texts: str) -> Any:
    return Reader(Store(jobs=0), catalog.scan(str(folder), READERS)).run(parse_request(view, texts))


def only(of: str, real: Callable[..., Any], place: Callable[..., str]) -> Callable[..., Any]:
    """Return ``real``, which fails for one item."""
    return lambda *given: fails() if of in place(*given) else real(*given)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("a mistake\nand more"), "ValueError: a mistake"),
        (ValueError(f"no {SECRET}"), "ValueError"),
        (KeyError(), "KeyError"),
        (PermissionError(13, "Permission denied", SECRET), "PermissionError: Permission denied"),
        (OSError(f"in {SECRET}"), "OSError"),
    ],
)
def test_a_failure_has_a_short_reason(error: Exception, reason: str) -> None:
    def work() -> None:
        raise error

    found = isolate("thing", work)
    assert found == Failure("thing", reason)
    assert found.finding().code == "internal"
    assert found.finding().message == f"thing failed: {reason}"


def test_the_log_has_the_traceback_once(caplog: pytest.LogCaptureFixture) -> None:
    assert isolate("fine", lambda: 3) == 3
    assert isinstance(isolate("thing", fails), Failure)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError


@pytest.mark.parametrize("error", [TraceError("x", "y"), Interrupted(), MemoryError()])
def test_what_has_a_meaning_passes(error: Exception) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        isolate("thing", work)


def test_a_rank_of_distributed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Store.part
    monkeypatch.setattr(Store, "part", only("host_1", read, lambda _, files, __: files.trace.name))
    found = ask(folder, "distributed", run="a")
    problems = [row.problem for row in found.rows]
    assert problems == [None, "host_1.1.pt.trace.json failed: ValueError: a mistake"]


def test_a_run_of_history(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Parts._read
    broken = only("/b/", read, lambda _, __, files: files.trace.path)
    monkeypatch.setattr(Parts, "_read", broken)
    rows = {row.run: row for row in ask(folder, "history").rows}
    assert (rows["a"].state, rows["b"].state) == ("read", "failed")
    assert rows["b"].problem == "host_0.1.pt.trace.json failed: ValueError: a mistake"


def test_a_run_of_the_list(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_run", only("b", catalog._run, lambda name, *_: name))
    runs = catalog.scan(str(folder), READERS).runs
    assert [run.run for run in runs.runs] == ["a"]
    assert [(w.code, w.message) for w in runs.warnings] == [
        ("internal", "b failed: ValueError: a mistake")
    ]


def test_an_attached_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = write(tmp_path, "host_0.1.pt.trace.json")
    dumps = [str(dump) for dump in (Rank(0).call().dump(tmp_path), tmp_path / "nccl_trace_rank_1")]
    Path(dumps[1]).write_bytes(b"no dump")
    raw = READERS[0].read(str(path), None)
    whole = readers.complete(raw, dumps)
    assert [one.code for one in whole.findings[len(raw.findings) :]] == ["part_unreadable"]
    real = flight_recorder.FLIGHT_RECORDER.add
    assert real is not None
    add = only("rank_1", real, lambda _, path: path)
    broken = tuple(
        replace(one, add=add) if one is flight_recorder.FLIGHT_RECORDER else one for one in READERS
    )
    monkeypatch.setattr(readers, "READERS", broken)
    found = readers.complete(raw, dumps)
    assert len(found.entries) == len(whole.entries) == 1
    assert [one.code for one in found.findings[len(raw.findings) :]] == ["internal"]


CARDS = {
    "views.overview.steady_verdict": "verdict",
    "views.overview.summary_of": "recording",
    "views.overview._account_fields": "account",
    "views.overview.awaited_operators": "idle_before",
    "analysis.account.top_lists.top_operators": "top_operators",
    "analysis.account.top_lists.top_kernels": "top_kernels",
}


@pytest.mark.parametrize("function", CARDS)
def test_a_card_of_the_overview(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = make.trace(make.step(1, 0, 9), make.op("mm", 1, 5))
    whole = overview.overview(trace)
    monkeypatch.setattr(f"tb_privateuse1.{function}", fails)
    found = overview.overview(trace)
    (failure,) = found.failures
    assert failure.code == "internal"
    assert not getattr(found, CARDS[function])
    assert found.steps == whole.steps


def test_a_rule_of_all_ranks() -> None:
    rules = list(RANK_RULES.values())
    broken = replace(rules[0], check=fails)
    quiet = replace(rules[1], check=lambda _: ())
    (note,) = advise_ranks(None, (broken, quiet))  # type: ignore[arg-type]
    assert (note.rule, note.severity, note.saving_ns) == (broken.name, "note", None)
    assert note.title == f"A check failed: {broken.title}"


def test_an_answer_to_an_agent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "summary_of", fails)
    store, scanner = Store(jobs=0), Scanner(str(folder), READERS)
    answers = Answers(scanner, store, Reader(store, scanner))
    try:
        call = parse_call("overview", {"fields": ["failures"]})
        text = answers.answer(call, time.monotonic() + 60, sql_allowed=False).text
    finally:
        answers.close()
    assert "The kind of recording failed: ValueError: a mistake" in text


@pytest.mark.parametrize(
    ("view", "part"),
    [
        ("overview", "summary"),
        ("advice", "issues"),
        ("hotspots", "time"),
        ("method", "recording"),
        ("distributed", "ranks"),
    ],
)
def test_a_part_of_the_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch, view: str, part: str
) -> None:
    monkeypatch.setattr(Reader, "run", only(view, Reader.run, lambda _, asked: asked.view.__name__))
    catalog_of = catalog.scan(str(folder), READERS)
    reader = Reader(Store(jobs=0), catalog_of)
    found = contents.trace_report(reader, catalog_of, Selection("a"), "")
    assert found.trace is not None
    assert {one.part for one in found.trace.failures} == {part}
    assert " failed: ValueError: a mistake" in markdown(found)


def test_a_view_over_http(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Reader, "run", only("advice", Reader.run, lambda _, asked: asked.view.__name__)
    )
    store, scanner = Store(jobs=0), Scanner(str(folder), READERS)
    base = f"/data/plugin/{PLUGIN}/"
    client = Client(Routes(scanner, store))
    try:
        failed, fine = client.get(f"{base}advice?run=b"), client.get(f"{base}overview?run=b")
    finally:
        scanner.close()
    assert (failed.status_code, failed.json["error"]["code"]) == (500, "internal")
    assert str(folder) not in failed.text
    assert fine.status_code == 200


@pytest.mark.parametrize("links_out", [True, False])
def test_a_link_to_itself_and_odd_folders(tmp_path: Path, links_out: bool) -> None:
    write(tmp_path / "good", "host_0.1.pt.trace.json")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    tmp_path.joinpath(*["d"] * 300).mkdir(parents=True)
    warnings: list[Finding] = []
    found = catalog.walk([("", str(tmp_path))], Heads(READERS), warnings, [], links_out=links_out)
    assert [run.run for run, _ in found] == ["good"]
    assert [(one.code, one.count) for one in warnings] == [("links_out", 3)][links_out:]
    assert not any(str(tmp_path) in one.message for one in warnings)


def test_a_failed_search_names_no_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise RuntimeError(f"Symlink loop from '{SECRET}'")

    monkeypatch.setattr(catalog, "walk", broken)
    scanner = Scanner(str(folder), READERS)
    try:
        (warning,) = scanner.await_run().runs.warnings
    finally:
        scanner.close()
    assert warning.message == "The search failed: RuntimeError"


def test_a_base_time_beyond_64_bits_is_unknown() -> None:
    assert collective_entries.known_base((1 << 63) + 5) == 0
    assert collective_entries.known_base(1_700_000_000_000_000_000) == 1_700_000_000_000_000_000


def test_an_id_of_a_device_that_is_no_number_is_left_out() -> None:
    trace = make.trace(make.kernel("k", 1, 5, 1), deviceProperties=[{"id": [0], "name": "H100"}])
    assert trace.meta.devices == ({"name": "H100"},)
