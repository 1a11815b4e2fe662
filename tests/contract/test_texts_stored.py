"""What the server tells of traces in Chinese: after reading, out of the cache, over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from werkzeug.test import Client

from tb_privateuse1.analysis.kernels.inference_limits import Advice, Limit
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.i18n import LANGUAGES, render, say
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage import disk_cache
from tb_privateuse1.storage.ingest import ingest
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Example, Finding
from tb_privateuse1.trace.inference_basis import Constant
from tb_privateuse1.trace.labels import Fact
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.method import Method
from tb_privateuse1.views.timeline import Counter
from tests.support import chinese, make
from tests.support.results import result

PROSE: dict[type, tuple[str, ...]] = {
    Finding: ("message", "hint"),
    Example: ("note",),
    Fact: ("label",),
    Constant: ("evidence",),
    Limit: ("title", "message"),
    Advice: ("title", "message"),
    Method: ("reason", "kind_evidence"),
    Counter: ("label",),
}
PLACEHOLDER = re.compile(r"\{[a-z_]+(![rs])?(:[^{}]*)?\}")


def _damaged(folder: Path) -> None:
    """A trace with much that is doubtful, cut off within its last event."""
    far = 200 * 86_400 * 1e6
    info = {"rank": 0, "world_size": 4, "backend": "nccl"}
    device = {"id": 0, "name": "NVIDIA H100 PCIe", "totalGlobalMem": 80 << 30, "numSms": 114}
    content = make.document(
        make.step(1, 0, 100),
        make.step(1, 90, 200),
        make.step(2, 200, 320),
        make.op("aten::mm", 0, 10, id=1),
        make.op("aten::mm", 0, 10, id=1),
        make.op("aten::add", 5, 15, id=2),
        make.launch(12, 14, 7),
        make.launch(6, 7, 9),
        make.kernel("gemm", 1, 30, 7),
        make.kernel("gemm", 20, 40, 7),
        make.kernel("unlinked", 50, 60, 99),
        make.kernel("late", far, far + 5, 98),
        make.memory(3, 4096, 4096),
        make.memory(300, 4096, 8192),
        {"ph": "Q", "name": "odd"},
        {"ph": "X", "cat": "cpu_op", "name": "timeless", "pid": 1, "tid": 1},
        make.span("strange_category", "what", 1, 2),
        make.span("cpu_op", "backwards", 30, 20),
        make.op("aten::end", 330, 340, id=3),
        distributedInfo=info,
        deviceProperties=[device],
        with_stack=True,
    )
    text = json.dumps(content).replace('"External id": 2', '"External id": NaN')
    path = folder / "damaged" / "worker0.1700000000000.pt.trace.json"
    path.parent.mkdir(parents=True)
    path.write_text(text[:-20])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    _damaged(folder)
    return folder


@pytest.fixture(scope="module", params=["damaged", "mlp", "ddp", "host"])
def trace(request: pytest.FixtureRequest, folder: Path, logdir: Path) -> Trace:
    run = request.param
    files = catalog.scan(str(folder if run == "damaged" else logdir), READERS).find(run)
    return ingest(files)


@pytest.fixture(scope="module", params=["read", "cached"])
def told(request: pytest.FixtureRequest, trace: Trace, tmp_path_factory: Any) -> Trace:
    if request.param == "read":
        return trace
    path = tmp_path_factory.mktemp("cache") / "trace.arrow"
    disk_cache.write_trace(trace, path)
    again = disk_cache.read_trace(path)
    assert again is not None
    return again


def _prose(value: Any) -> Iterator[str | None]:
    """All that people read as sentences or labels in a result."""
    if isinstance(value, tuple | list):
        for one in value:
            yield from _prose(one)
    elif isinstance(value, Counter) and value.what == "recorded":
        return  # its label is the trace's own name
    elif isinstance(value, Struct):
        yield from (getattr(value, name) for name in PROSE.get(type(value), ()))
        for name in value.__struct_fields__:
            yield from _prose(getattr(value, name))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


@pytest.mark.parametrize("name", VIEWS)
def test_results_are_in_chinese(told: Trace, name: str) -> None:
    found = result(VIEWS[name], told)
    prose = list(_prose(found))
    chinese.check(prose)
    english, other = (json.loads(encode(found, language)) for language in LANGUAGES)
    left = {text for text in _strings(other) if PLACEHOLDER.search(text)}
    assert left <= set(_strings(english))


def test_the_damaged_trace_has_much_to_tell(folder: Path) -> None:
    """Else the test above would say little."""
    trace = ingest(catalog.scan(str(folder), READERS).find())
    codes = {finding.code for finding in trace.meta.findings}
    assert codes >= {
        "truncated", "invalid_numbers", "events_without_time", "negative_durations",
        "phase_not_shown", "unknown_category", "far_events", "unlinked_activities",
        "missing_activities", "duplicated_ops", "overlapping_steps", "repeated_steps",
        "clock_behind", "overlapping_activities",
    }  # fmt: skip


def test_nothing_is_english_only_by_the_cache(trace: Trace, tmp_path: Path) -> None:
    """In each language it says the same as before."""
    disk_cache.write_trace(trace, tmp_path / "trace.arrow")
    again = disk_cache.read_trace(tmp_path / "trace.arrow")
    assert again is not None
    for language in LANGUAGES:
        one, other = (encode(result(VIEWS["quality"], t), language) for t in (trace, again))
        assert one == other


def test_a_page_may_send_back_what_it_was_told(trace: Trace) -> None:
    """The flame graph's path of names, in the language that they were shown in."""
    flame = VIEWS["flame"]
    for language in LANGUAGES:
        rows = json.loads(encode(result(flame, trace), language))["rows"]
        for row in [row for row in rows if row["kind"] == "none"]:
            whole = result(flame, trace, root=row["name"]).rows[0]
            assert (whole.kind, whole.total_ns) == ("none", row["total_ns"])


BASE = "/data/plugin/privateuse1/"


@pytest.fixture(scope="module")
def client(logdir: Path, cache: Path) -> Iterator[Client]:
    scan = Scanner(str(logdir), READERS, interval_s=0)
    yield Client(Routes(scan, Store(jobs=0, cache_dir=cache)))
    scan.close()


@pytest.mark.parametrize(
    ("asked", "code", "told"),
    [
        ("overview?run=nowhere", "unknown_run", "没有运行 nowhere。"),
        ("overview?run=ddp&rank=7", "unknown_rank", "没有 rank 7。"),
        ("overview?run=ddp&step=9", "unknown_step", "该 trace 中没有迭代 9。"),
        ("overview?color=red", "unknown_option", "overview 没有选项 'color'。"),
        ("operators?limit=many", "bad_option", "limit 必须是整数"),
        ("overview?run=unreadable", "not_json", "没有完整的事件。"),
    ],
)
def test_errors_are_in_the_browsers_language(
    client: Client, asked: str, code: str, told: str
) -> None:
    plain = client.get(BASE + asked)
    english = client.get(BASE + asked, headers={"Accept-Language": "en-GB,zh;q=0.5"})
    answer = client.get(BASE + asked, headers={"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"})
    brief = client.get(BASE + asked, headers={"Accept-Language": "zh-CN,en;q=0.8"})
    assert plain.data == english.data
    assert brief.data == answer.data
    assert plain.data.isascii()
    assert plain.headers["Content-Language"] == english.headers["Content-Language"] == "en"
    assert answer.headers["Content-Language"] == "zh"
    assert "Accept-Language" in answer.headers["Vary"]
    assert answer.status_code == plain.status_code >= 400
    error = answer.json["error"]
    assert error["code"] == plain.json["error"]["code"] == code
    assert told in error["message"]
    assert error["hint"] is None or chinese.LETTERS.search(error["hint"])


@pytest.mark.long
def test_an_error_passes_between_processes(logdir: Path, tmp_path: Path) -> None:
    """A trace is read in a process of its own; where it lies on the server stays untold."""
    files = catalog.scan(str(logdir), READERS).find("unreadable")
    store = Store(jobs=1, cache_dir=tmp_path)
    try:
        with pytest.raises(TraceError) as raised:
            store.trace(files)
    finally:
        store.close()
    told = render(raised.value.message, "zh")
    assert told == f"{files.trace.name} 中没有完整的事件。"
    assert raised.value.hint is not None
    assert chinese.LETTERS.search(render(raised.value.hint, "zh"))


def test_an_error_is_the_same_out_of_json() -> None:
    wanted = say(
        "{name} must be {kind}, not {text!r}.", name="rank", kind=say("a number"), text="x"
    )
    error = TraceError("bad_option", wanted)
    again = TraceError.unpacked(json.loads(json.dumps(error.packed())))
    assert (again.code, again.message, again.hint) == ("bad_option", wanted, None)
    assert render(again.message, "zh").startswith("rank 必须是数字")
