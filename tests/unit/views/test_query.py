from __future__ import annotations

from typing import Any, Literal

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import query


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
    asked = query.parse_options(view, text)
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
def test_what_cannot_be_understood_is_said(text: dict[str, str], code: str, says: str) -> None:
    with pytest.raises(TraceError) as caught:
        query.parse_options(view, text)
    assert caught.value.code == code
    assert says in f"{caught.value.message} {caught.value.hint}"


def test_an_unknown_view_names_the_known_ones() -> None:
    with pytest.raises(TraceError) as caught:
        query.view_named("nope")
    assert caught.value.code == "unknown_view"
    assert "overview" in str(caught.value.hint)
