"""Requests of views: options from texts, limits of answers, errors."""

from __future__ import annotations

import time
from typing import Any, Literal

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.request import (
    RENAMED,
    Selection,
    parse_options,
    parse_request,
    view_named,
)


def view(
    trace: Trace,
    *,
    group: Literal["name", "shapes"] = "name",
    step: int | None = None,
    exact: bool = False,
    share: float = 0.5,
    name: str | None = None,
) -> dict[str, Any]:
    return {"group": group, "step": step, "exact": exact, "share": share, "name": name}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ({}, {}),
        ({"group": "shapes"}, {"group": "shapes"}),
        ({"step": "7"}, {"step": 7}),
        ({"step": "-1"}, {"step": -1}),
        ({"exact": "true"}, {"exact": True}),
        ({"share": "0.25"}, {"share": 0.25}),
        ({"name": "<b>"}, {"name": "<b>"}),
    ],
)
def test_texts_become_the_views_types(text: dict[str, str], value: dict[str, Any]) -> None:
    asked = parse_options(view, text)
    assert asked == value
    assert view(Trace(), **asked) == {**view(Trace()), **value}


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ({"grp": "x"}, "unknown_option", "group, step, exact, share, name"),
        ({"group": "x"}, "bad_option", "name, shapes"),
        ({"step": ""}, "bad_option", "whole number"),
        ({"step": "1e3"}, "bad_option", "whole number"),
        ({"step": "\u0663"}, "bad_option", "whole number"),
        ({"step": "9" * 5000}, "bad_option", "whole number"),
        ({"exact": "1"}, "bad_option", "true or false"),
        ({"share": "half"}, "bad_option", "a number"),
    ],
)
def test_wrong_options_are_errors(text: dict[str, str], code: str, says: str) -> None:
    with pytest.raises(TraceError) as caught:
        parse_options(view, text)
    assert caught.value.code == code
    assert says in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("name", ["operators", "kernels", "diff", "memory", "search"])
def test_an_answer_over_http_is_bounded(name: str) -> None:
    assert parse_request(name, {"limit": "200000"}).options["limit"] == 200_000
    with pytest.raises(TraceError, match="limit must be at most 200,000") as caught:
        parse_request(name, {"limit": "200001"})
    assert caught.value.code == "bad_option"


def test_points_are_bounded() -> None:
    with pytest.raises(TraceError, match="points must be at most"):
        parse_request("memory", {"points": "100000000"})


def test_an_old_name_of_a_view_has_the_new_one_as_hint() -> None:
    for old, new in RENAMED.items():
        with pytest.raises(TraceError) as caught:
            view_named(old)
        assert (caught.value.code, new in (caught.value.hint or "")) == ("unknown_view", True)


def test_an_unknown_view_names_the_known_ones() -> None:
    with pytest.raises(TraceError) as caught:
        view_named("nope")
    assert caught.value.code == "unknown_view"
    assert "overview" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("texts", "base"),
    [
        ({}, Selection("a", 3)),
        ({"base_rank": "1"}, Selection("a", 1)),
        ({"base_run": "b"}, Selection("b")),
        ({"base_run": "b", "base_span": "2"}, Selection("b", span=2)),
    ],
)
def test_the_base_inherits_from_the_selection_of_its_run(
    texts: dict[str, str], base: Selection
) -> None:
    request = parse_request("diff", {"run": "a", "rank": "3", "step": "1", **texts})
    assert request.view is VIEWS["diff"]
    assert (request.selection, request.base) == (Selection("a", 3), base)
    assert request.options == {"step": 1}
    assert request.reads == ("trace", "base", "hparams")


@pytest.mark.parametrize(
    ("name", "texts", "says"),
    [
        ("overview", {"base_run": "b"}, "overview has no option 'base_run'"),
        ("overview", {"rank": "x"}, "rank must be a whole number, not 'x'"),
        ("event", {"table": "ops"}, "row is missing"),
        ("event", {"table": "x", "row": "1"}, "table must be one of"),
    ],
)
def test_wrong_requests_are_errors(name: str, texts: dict[str, str], says: str) -> None:
    with pytest.raises(TraceError, match=says):
        parse_request(name, texts)


@pytest.mark.parametrize(("wait_ms", "seconds"), [("250", 0.25), ("-5", 0), ("99999999", 60)])
def test_deadlines_are_at_most_a_minute_away(
    monkeypatch: pytest.MonkeyPatch, wait_ms: str, seconds: float
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    deadline_s = parse_request("overview", {"wait_ms": wait_ms}).deadline_s
    assert deadline_s == pytest.approx(1000 + seconds)
