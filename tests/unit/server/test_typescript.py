"""The generated TypeScript says what the result dataclasses say."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import pytest
from msgspec import Struct

from tb_privateuse1 import views
from tb_privateuse1.server import typescript
from tb_privateuse1.views import signature
from tb_privateuse1.views.lookups import LOOKUPS


def test_api_ts_is_fresh() -> None:
    assert typescript.API.read_text() == typescript.typescript(), "run `make api`"


def test_every_view_with_an_option_to_sort_says_by_what() -> None:
    assert typescript.SORTS.read_text() == typescript.sort_keys(), "run `make api`"
    assert typescript.WINDOWED.read_text() == typescript.windowed(), "run `make api`"
    sorted_by = re.findall(r"^  (\w+): \[", typescript.sort_keys(), re.MULTILINE)
    with_option = [
        name
        for name, view in views.VIEWS.items()
        if "sort" in {option for option, _, _ in signature.query_of(view)}
    ]
    assert sorted_by == with_option


def test_the_options_are_fresh() -> None:
    assert typescript.OPTIONS.read_text() == typescript.all_options(), "run `make api`"
    assert typescript.OPTIONS_DOC.read_text() == typescript.options_documented(), "run `make api`"


def test_an_option_is_described() -> None:
    def view(
        trace: object,
        *,
        by: Annotated[Literal["a", "b"], "what"] = "a",
        at_ns: Annotated[int | None, "when"] = None,
        whole: Annotated[bool, "all"] = False,
        name: Annotated[str, "who"],
    ) -> None: ...

    rows = [tuple(option.values()) for option in signature.options_of(view)]
    assert rows == [
        ("by", "choice", ("a", "b"), False, "a", "what"),
        ("at_ns", "whole number", None, False, None, "when"),
        ("whole", "true or false", None, False, False, "all"),
        ("name", "text", None, True, None, "who"),
    ]


def test_every_view_has_its_result_and_its_query() -> None:
    text = typescript.typescript()
    results, lookups, options = (
        re.search(rf"interface {kind} {{(.*?)\n}}", text, re.DOTALL)
        for kind in ("Views", "Results extends Views", "Options")
    )
    assert results
    assert lookups
    assert options

    def names(found: str) -> list[str]:
        return re.findall(r"^  (\w+): ", found, re.MULTILINE)

    assert names(results[1]) == list(views.VIEWS)
    assert names(lookups[1]) == list(LOOKUPS)
    assert names(options[1]) == [*views.VIEWS, *LOOKUPS]
    groups = '"name" | "shapes" | "stack" | "module" | "category"'
    of = 'window?: "steady" | "all" | "prefill" | "decode" | "mixed"'
    rest = "find?: string | null; sort?: string | null; limit?: number; offset?: number"
    assert f"  operators: {{ group?: {groups}; step?: number | null; {of}; {rest} }};" in options[0]


def test_missing_figures_are_null_in_typescript() -> None:
    assert "  busy_ns: number | null;" in typescript.typescript()


def test_what_a_view_reads_and_asks() -> None:
    view = views.VIEWS["operators"]
    assert signature.reads_of(view) == ("trace",)
    assert [(n, d) for n, _, d in signature.query_of(view)] == [
        ("group", "name"), ("step", None), ("window", "steady"), ("find", None), ("sort", None),
        ("limit", 20_000), ("offset", 0),
    ]  # fmt: skip


def test_a_type_without_counterpart_is_refused() -> None:
    class Odd(Struct):
        what: dict[str, int]

    with pytest.raises(TypeError, match="no TypeScript counterpart"):
        typescript._interface(Odd, {})
