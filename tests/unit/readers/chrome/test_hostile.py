"""Files made to hurt: memory and time stay bounded, and what is wrong is said."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.compressed_files import LIMIT_VARIABLE, most_bytes
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.event_record import read_record
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views import VIEWS
from tests.support import make
from tests.support.limited_reader import Outcome, ingest
from tests.support.repeats import LONG, sampled

pytestmark = pytest.mark.long

MB = 1 << 20
DEPTH = 100_000
MANY = 100_000 if LONG else 10_000
MILLION = 1_000_000 if LONG else 50_000
QUICK = 10
"""Times what plain JSON of 200,000 events takes: 2 s where that takes 0.2 s."""
LIMIT = 32 * MB
BOMB = 8 * LIMIT


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "r").mkdir()
    return tmp_path / "r" / "w.1.pt.trace.json"


def written(path: Path, events: Iterator[make.Event] | list[make.Event], **keys: Any) -> Outcome:
    """Return what becomes of such a trace and of all views of it."""
    path.write_text(json.dumps(make.document(*events, **keys)))
    return ingest(path, *VIEWS)


def bounded(outcome: Outcome, bytes_limit: int, most_effort: float = QUICK) -> None:
    assert outcome.bytes < bytes_limit, outcome
    assert outcome.effort < most_effort, outcome


def linear(outcome: Outcome, events: int, each_bytes: int, thousand_effort: float) -> None:
    """Bound what so many events take: ``each_bytes`` per event, ``thousand_effort`` per 1,000."""
    most_effort = QUICK / 2 + events / 1000 * thousand_effort
    bounded(outcome, 8 * MB + events * each_bytes, most_effort)


def zeros(path: Path, head: bytes, size: int) -> None:
    """A gzip file of ``head`` and then spaces, a thousand times as large as itself."""
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(head)
        for _ in range(size // (16 * MB)):
            file.write(b" " * (16 * MB))


@pytest.mark.parametrize("head", sampled([b'{"traceEvents": [', b"["]))
def test_a_bomb_is_refused_before_it_is_unpacked(place: Path, head: bytes) -> None:
    bomb = place.with_suffix(".json.gz")
    zeros(bomb, head, BOMB)
    assert bomb.stat().st_size < LIMIT
    outcome = ingest(bomb, **{LIMIT_VARIABLE: str(LIMIT)})
    assert outcome.code == "too_large"
    assert outcome.message.startswith("w.1.pt.trace.json.gz unpacks to more than")
    assert LIMIT_VARIABLE in str(outcome.hint)
    bounded(outcome, 4 * LIMIT)


@pytest.mark.exhaustive
def test_the_default_limit_refuses_a_gigabyte(place: Path) -> None:
    bomb = place.with_suffix(".json.gz")
    zeros(bomb, b'{"traceEvents": [', 1 << 30)
    assert bomb.stat().st_size < 2 * MB
    outcome = ingest(bomb)
    assert outcome.code == "too_large"
    bounded(outcome, 700 * MB, QUICK / 2 + most_bytes(bomb.stat().st_size) / MB * 0.05)


def test_a_bomb_behind_the_events_is_not_read(place: Path) -> None:
    zeros(place, b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": 1}], "x": "', BOMB)
    outcome = ingest(place, **{LIMIT_VARIABLE: str(BOMB // 2)})  # it would be told if it were read
    assert (outcome.rows["ops"], outcome.findings["truncated"]) == (1, 1)
    bounded(outcome, BOMB)


def test_a_bomb_beside_the_trace_costs_the_sidecar_only(place: Path) -> None:
    zeros(place.with_name("w.1.kernel_event.json.gz"), b'{"external_id": [', BOMB)
    place.write_text(json.dumps(make.document(make.op("a", 0, 5, id=1))))
    outcome = ingest(place, **{LIMIT_VARIABLE: str(LIMIT)})
    assert "sidecar_unreadable" in outcome.findings
    assert outcome.rows["ops"] == 1
    bounded(outcome, 4 * LIMIT)


@pytest.mark.parametrize(("name", "thousand_effort"), sampled([("op{}", 2.5), ("aten::mm", 1.2)]))
def test_operators_nested_deep(place: Path, name: str, thousand_effort: float) -> None:
    """Of one name each is alone inside the one around it: a chain of as many lone calls."""
    deep = [make.op(name.format(i), i, 2 * MANY - i, id=i + 1) for i in range(MANY)]
    inside = [make.launch(MANY - 0.5, MANY + 0.5, 1), make.kernel("k", MANY, MANY + 5, 1),
              make.memory(MANY, 512, 512)]  # fmt: skip
    outcome = written(place, [*deep, *inside])
    assert (outcome.rows["ops"], outcome.findings) == (MANY, {})
    linear(outcome, MANY, 3000, thousand_effort)


def test_frames_nested_deep(place: Path) -> None:
    deep = [make.frame("f.py(1): f", i, 2 * MANY - i, **{"Python id": i}) for i in range(MANY)]
    outcome = written(place, [*deep, make.op("a", MANY - 1, MANY + 1, id=1)])
    assert outcome.rows["frames"] == MANY
    linear(outcome, MANY, 1000, 0.5)


DEEP = "[" * DEPTH + "]" * DEPTH


@pytest.mark.parametrize("where", ["args", "Input Dims", "name", "metadata", "sidecar"])
def test_json_nested_100_000_deep(place: Path, where: str) -> None:
    events = [
        make.op("before", 0, 5, id=1),
        make.op("here", 6, 9, id=2),
        make.op("c", 10, 12, id=3),
    ]
    text = json.dumps(make.document(*events, deviceProperties=[]))
    if where == "args":
        text = text.replace('"args": {"External id": 2', f'"args": {{"x": {DEEP}, "External id": 2')
    elif where == "Input Dims":
        text = text.replace('"External id": 2', f'"External id": 2, "Input Dims": {DEEP}')
    elif where == "name":
        text = text.replace('"name": "here"', f'"name": {DEEP}')
    elif where == "metadata":
        text = text.replace('"deviceProperties": []', f'"deviceProperties": {DEEP}')
    else:
        place.with_name("w.1.kernel_event.json").write_text(f'{{"external_id": {DEEP}}}')
    place.write_text(text)
    outcome = ingest(place, *VIEWS)
    assert outcome.code is None
    assert outcome.rows["ops"] == (3 if where in ("metadata", "sidecar") else 2)
    assert {"damaged", "metadata_damaged", "sidecar_unreadable"} & set(outcome.findings)
    bounded(outcome, 100 * MB)


def test_as_many_names_as_events(place: Path) -> None:
    events = (make.op(f"<b>{i}", i, i + 1, id=i + 1) for i in range(MILLION))
    place.write_text(json.dumps(make.document(*events)))
    outcome = ingest(place, "overview", "quality")
    assert outcome.rows["ops"] == MILLION
    bounded(outcome, 8 * MB + 6 * place.stat().st_size, QUICK / 2 + MILLION / 1000 * 0.2)


def test_as_many_categories_and_threads_as_events(place: Path) -> None:
    """Both have columns or rows of their own."""
    events = (make.kernel("k", i, i + 1, stream=i, category=f"c{i}") for i in range(MILLION // 5))
    outcome = written(place, events)
    assert len(outcome.findings) < 10
    assert outcome.rows["threads"] == MILLION // 5
    bounded(outcome, 8 * MB + 6 * place.stat().st_size, QUICK / 2 + MILLION / 5000 * 0.3)


def test_as_many_streams_as_kernels(place: Path) -> None:
    outcome = written(place, (make.kernel("k", i, i + 1, stream=i) for i in range(MANY)))
    assert outcome.rows["lanes"] == MANY
    linear(outcome, MANY, 2000, 1)


def test_as_many_steps_as_events(place: Path) -> None:
    outcome = written(place, (make.step(i, 10 * i, 10 * i + 12) for i in range(MANY)))
    assert outcome.rows["steps"] == MANY
    linear(outcome, MANY, 3000, 1)


@pytest.mark.parametrize("us", [2.0**50, -(2.0**50), 1e300, 1e18, -1e18, 0])
def test_absurd_times(place: Path, us: float) -> None:
    """Steps, sums and clocks over the whole range of a number."""
    events = [
        make.step(1, 1000, 1100),
        make.op("a", 1005, 1020, id=1),
        make.launch(1006, 1010, 1),
        make.kernel("k", 1015, 1050, 1),
        make.op("far", us, us + 5, id=2),
        make.launch(us + 1, us + 2, 2),
        make.kernel("far", us + 3, us + 9, 2),
        make.memory(us, 512, 512),
        make.step(2, us - 1, us + 10),
        make.frame("f", us, us + 5),
    ]
    outcome = written(place, events)
    assert outcome.code is None
    near = us == 0
    assert near or {"far_events", "impossible_times", "zero_times"} & set(outcome.findings)
    bounded(outcome, 100 * MB)


MARKUP = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e\x00\x1b]0;x\x07'


def test_markup_is_a_text_like_any_other(place: Path) -> None:
    odd = make.kernel(MARKUP, 20, 30, **{"Collective name": MARKUP, MARKUP: MARKUP})
    events = [make.op(MARKUP, 0, 10, id=1, **{"Input Dims": [MARKUP]}), odd | {"tid": MARKUP}]
    outcome = written(place, [*events, make.op("x", 40, 50) | {"cat": MARKUP}], **{MARKUP: MARKUP})
    assert outcome.rows["ops"] == outcome.rows["kernels"] == 1
    store, files = Store(jobs=0), catalog.scan(str(place), READERS).find()
    record = read_record(*store.open(files), table="kernels", row=0).record
    assert json.loads(str(record))["args"][MARKUP] == MARKUP
    assert str(record).replace("\n", "").isprintable() or "\u202e" in str(record)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """A pipe would never end, and a device never be empty."""
    folder = tmp_path / "r"
    folder.mkdir()
    os.mkfifo(folder / "a.1.pt.trace.json")
    (folder / "b.1.pt.trace.json").symlink_to("/dev/zero")
    (folder / "c.1.pt.trace.json").mkdir()
    (folder / "d.1.pt.trace.json").symlink_to(folder / "d.1.pt.trace.json")
    with pytest.raises(TraceError, match="no traces"):
        catalog.scan(str(tmp_path), READERS).find()


def test_a_link_to_something_else_shows_none_of_it(place: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('token = "s3cret"\n{"ph": "X", "s3cret": 1}\n')
    place.symlink_to(secret)
    outcome = ingest(place)
    assert outcome.code in ("not_json", "not_a_trace")
    assert "s3cret" not in f"{outcome.message} {outcome.hint}"
    assert str(tmp_path) not in f"{outcome.message} {outcome.hint}"


@pytest.mark.parametrize(
    "name", ["..", "../../etc", "/etc/passwd", "%2e%2e", "r/../r", "r\x00", "C:\\", "~", ""]
)
def test_names_from_outside_find_nothing(place: Path, name: str) -> None:
    place.write_text(json.dumps(make.document(make.op("a", 0, 1))))
    with pytest.raises(TraceError) as caught:
        catalog.scan(str(place.parents[1]), READERS).find(name)
    assert caught.value.code == "unknown_run"


@pytest.mark.parametrize("told", ["../../x", "/etc/passwd", -1, 2**70, 1e300, None, [], {"a": 1}])
def test_ids_and_ranks_are_no_paths(place: Path, told: Any) -> None:
    """What a trace says of itself names a rank at most, and never a file."""
    events = [make.op("a", 0, 1, id=told), make.kernel("k", 2, 3, told, stream=told, device=told)]
    sound = [make.op("b", 0, 1), make.kernel("j", 4, 5)]
    outcome = written(place, [*events, *sound], distributedInfo={"rank": told, "backend": told})
    assert outcome.code is None
    lost = 2 if isinstance(told, list | dict) else 0
    assert (outcome.findings.get("malformed_events") or 0) == lost
    assert outcome.rows["ops"] + outcome.rows["kernels"] == 4 - lost
    assert sorted(p.name for p in place.parents[1].rglob("*")) == ["r", place.name]
