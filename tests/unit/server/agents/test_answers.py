"""Calls in this process, on the sample logdir: sizes, digits, and what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.server.agents.answers import Answer, Answers, parse_call
from tb_privateuse1.server.agents.tools import TOOLS, Tool
from tb_privateuse1.storage.event_record import read_record
from tb_privateuse1.storage.jobs import Pending
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection, view_named
from tests.support.agents import arguments_of, ask, call, expanded, opened

SIZES = (1000, 1500, 3000, 8000, 20_000, 64_000)


@pytest.fixture(scope="module")
def answers(logdir: Path) -> Iterator[Answers]:
    with opened(logdir) as found:
        yield found


@pytest.mark.long
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("run", ["ddp", "mlp", "host"])
def test_every_answer_is_json_of_the_size_that_was_asked(
    answers: Answers, tool: Tool, run: str
) -> None:
    sizes = SIZES if tool.kind != "sql" else SIZES[:1] if run == "ddp" else ()
    for size in sizes:
        answer = call_or_none(answers, tool, run, size)
        if answer is not None:
            base64_bytes = (len(answer.png or b"") + 2) // 3 * 4
            assert len(answer.text.encode()) + base64_bytes <= size
            assert isinstance(json.loads(answer.text), dict)


def call_or_none(answers: Answers, tool: Tool, run: str, size: int) -> Answer | None:
    """Return an answer, or None where the recording has nothing to answer with."""
    known = ("unknown_row", "picture_too_large", "nothing_to_draw")
    try:
        return call(answers, tool.name, **arguments_of(tool, run), max_bytes=size)
    except TraceError as error:
        if error.code not in known:
            raise
        return None


@pytest.mark.parametrize("tool", [t for t in TOOLS if t.kind == "view"], ids=lambda tool: tool.name)
def test_an_answer_has_the_view_s_values(answers: Answers, tool: Tool) -> None:
    """What is not cut is what HTTP and the command line give, to the digit."""
    arguments = arguments_of(tool, "ddp")
    found = expanded(ask(answers, tool.name, **arguments, max_bytes=200_000))
    options = {k: v for k, v in arguments.items() if k not in ("run", "base_run")}
    view = tool.name
    request = Request(
        read_record if view == "event" else view_named(view),
        Selection("ddp"),
        Selection("ddp"),
        options=options,
    )
    reader: Reader = answers._reader
    whole = json.loads(encode(reader.run(request)))
    left_out = found.pop("more", {"fields": []})["fields"]
    found.pop("of", None)
    assert set(left_out) <= set(tool.later)
    assert found == {name: value for name, value in whole.items() if name not in left_out}


def test_fields_and_columns_select(answers: Answers) -> None:
    whole = expanded(ask(answers, "kernels", run="ddp", max_bytes=60_000))
    found = ask(answers, "kernels", run="ddp", fields=["rows[1:2]", "total_ns"])
    assert expanded(found["rows[1:2]"]) == whole["rows"][1:2]
    assert found["total_ns"] == whole["total_ns"]
    found = ask(answers, "kernels", run="ddp", fields=["rows"], columns=["name", "total_ns"])
    assert expanded(found["rows"]) == [
        {"name": row["name"], "total_ns": row["total_ns"]} for row in whole["rows"]
    ]


def test_the_rest_of_a_list_is_reached_by_its_path(answers: Answers) -> None:
    whole = expanded(ask(answers, "operators", run="mlp", group="shapes", max_bytes=200_000))
    path, rows = "rows", []
    for _ in range(50):
        found = ask(answers, "operators", run="mlp", group="shapes", fields=[path], max_bytes=2500)
        rows += expanded(found[path])
        if "more" not in found:
            break
        path = found["more"]["fields"][0]
    assert rows == whole["rows"]


def test_an_answer_names_the_recording_it_is_of(answers: Answers) -> None:
    assert ask(answers, "overview")["of"] == {"run": "ddp", "rank": 0, "span": 1}
    assert ask(answers, "method", run="mlp")["of"] == {"run": "mlp", "rank": 0, "span": 2}


def test_runs_are_listed_and_found(answers: Answers) -> None:
    found = expanded(ask(answers, "list_runs"))
    assert [run["run"] for run in found["runs"]] == ["ddp", "host", "mlp", "unreadable"]
    assert [run["run"] for run in expanded(ask(answers, "list_runs", matching="ML"))["runs"]] == [
        "mlp"
    ]


@pytest.mark.long
def test_sql_answers_and_obeys(answers: Answers) -> None:
    pytest.importorskip("duckdb")
    query = "select count(*) as n, sum(duration_ns) as ns from kernels"
    found = expanded(ask(answers, "sql", run="ddp", query=query))
    assert [column["name"] for column in found["columns"]] == ["n", "ns"]
    assert found["rows"] == [[24, 24 * 30_000]]
    deadline_s = time.monotonic() + 60
    with pytest.raises(TraceError) as raised:
        answers.answer(parse_call("sql", {"query": query}), deadline_s, sql_allowed=False)
    assert raised.value.code == "sql_off"


@pytest.mark.long
def test_a_picture_is_a_png_with_its_figures(answers: Answers) -> None:
    answer = call(answers, "picture", run="ddp", width_px=700)
    assert answer.png is not None
    assert answer.png.startswith(b"\x89PNG")
    caption = json.loads(answer.text)
    assert caption["of"]["run"] == "ddp"
    assert caption["stop_ns"] > caption["start_ns"]
    assert caption["device_times"] == "measured"


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("nothing", {}, "unknown_tool"),
        ("x" * 5000, {}, "unknown_tool"),
        ("overview", {"path": "/etc"}, "unknown_option"),
        ("overview", {"x" * 5000: 1}, "unknown_option"),
        ("overview", {"max_bytes": 10**9}, "bad_option"),
        ("overview", {"max_bytes": 10}, "bad_option"),
        ("overview", {"max_bytes": "8000"}, "bad_option"),
        ("overview", {"max_bytes": True}, "bad_option"),
        ("overview", {"wait_s": 10**9}, "bad_option"),
        ("overview", {"run": 5}, "bad_option"),
        ("overview", {"run": ["ddp"]}, "bad_option"),
        ("history", {"matching": "\ud83d"}, "bad_option"),
        ("sql", {"query": "\ud83d"}, "bad_option"),
        ("overview", {"fields": ["\ud83d"]}, "bad_option"),
        ("overview", {"rank": "0"}, "bad_option"),
        ("overview", {"rank": 10**30}, "bad_option"),
        ("overview", {"run": "../../etc/passwd"}, "unknown_run"),
        ("overview", {"run": "/etc/passwd"}, "unknown_run"),
        ("overview", {"run": "\x00"}, "unknown_run"),
        ("overview", {"rank": 99}, "unknown_rank"),
        ("overview", {"step": 99}, "unknown_step"),
        ("overview", {"fields": ["../x"]}, "bad_option"),
        ("overview", {"fields": ["x"] * 51}, "bad_option"),
        ("overview", {"fields": "rows"}, "bad_option"),
        ("overview", {"fields": [["rows"]]}, "bad_option"),
        ("overview", {"columns": ["nothing"]}, "bad_option"),
        ("operators", {"limit": 10**9}, "bad_option"),
        ("operators", {"limit": -1}, "bad_option"),
        ("operators", {"group": "'; drop table ops"}, "bad_option"),
        ("memory", {"points": 10**9}, "bad_option"),
        ("diff", {}, "bad_option"),
        ("diff", {"base_run": "/tmp"}, "unknown_run"),
        ("event", {}, "bad_option"),
        ("event", {"table": "ops", "row": 10**9}, "unknown_row"),
        ("definition", {}, "bad_option"),
        ("definition", {"term": "no such word"}, "unknown_term"),
        ("sql_tables", {"table": "pg_catalog"}, "bad_option"),
        ("sql", {}, "bad_option"),
        ("sql", {"query": "x" * 30_000}, "bad_option"),
        ("picture", {"of": "secrets"}, "bad_option"),
        ("picture", {"width_px": 10**6}, "bad_option"),
        ("picture", {"limit": 5}, "unknown_option"),
        ("picture", {"max_bytes": 1000}, "picture_too_large"),
        ("picture", {"run": "host", "of": "roofline"}, "nothing_to_draw"),
        ("overview", {"run": "unreadable"}, "not_json"),
    ],
)
def test_other_calls_are_errors(
    answers: Answers, name: str, arguments: dict[str, Any], code: str
) -> None:
    with pytest.raises(TraceError) as raised:
        call(answers, name, **arguments)
    assert raised.value.code == code
    assert len(raised.value.message) < 1000


def test_a_call_that_takes_longer_is_pending(logdir: Path) -> None:
    with opened(logdir) as fresh, pytest.raises(Pending):
        fresh.answer(parse_call("overview", {}), time.monotonic() - 1, sql_allowed=True)
