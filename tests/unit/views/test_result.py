"""A result's tables in Arrow, pandas and a notebook."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pytest
from msgspec import Struct

from tb_privateuse1.export.reports import csv
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.views.result import Result, tables_of

LARGE = 2**63 - 1


class Part(Struct, frozen=True):
    at_ns: int
    share: float | None


class Row(Struct, frozen=True):
    name: str
    total_ns: int | None
    share: float
    whole: bool
    part: Part | None
    places: tuple[str, ...]
    parts: tuple[Part, ...] = ()


class Label(Struct, frozen=True):
    label: str


class Source(Struct, frozen=True):
    timeline: str
    warnings: tuple[Finding, ...]


class Small(Result, frozen=True):
    """Its main table is the one with times."""

    provenance: Source
    labels: tuple[Label, ...]
    steps: tuple[Row, ...]
    words: tuple[str, ...]
    busy_ns: int | None


class Large(Small, frozen=True):
    """Its main table is called so."""

    rows: tuple[Label, ...]


SOURCE = Source("inferred", (Finding("odd", "<i>odd</i>", "mend it"),))
ROWS = (
    Row("<b>\x1b", LARGE, 0.5, True, Part(1, None), ("a", "b"), (Part(2, 0.5),)),
    Row("other", None, 1.0, False, None, ()),
)
SMALL = Small(SOURCE, (Label("x"),) * 30, ROWS, ("w",), None)
LARGE_ONE = Large(SOURCE, (), ROWS, (), 7, (Label("main"),))


PART = pa.struct([("at_ns", pa.int64()), ("share", pa.float64())])


def test_arrow() -> None:
    table = SMALL.to_arrow()
    assert table.schema.types == [
        pa.string(), pa.int64(), pa.float64(), pa.bool_(),
        PART, pa.list_(pa.string()), pa.list_(PART),
    ]  # fmt: skip
    assert table.to_pylist() == [
        {"name": "<b>\x1b", "total_ns": LARGE, "share": 0.5, "whole": True,
         "part": {"at_ns": 1, "share": None}, "places": ["a", "b"],
         "parts": [{"at_ns": 2, "share": 0.5}]},
        {"name": "other", "total_ns": None, "share": 1.0, "whole": False,
         "part": None, "places": [], "parts": []},
    ]  # fmt: skip
    told = json.loads(table.schema.metadata[b"tb_privateuse1"])
    assert told["timeline"] == "inferred"


def test_which_table() -> None:
    assert SMALL.tables == ("labels", "steps")
    assert SMALL.to_arrow("labels").num_rows == 30
    assert LARGE_ONE.to_arrow().to_pylist() == [{"label": "main"}]
    assert LARGE_ONE.to_arrow("labels").schema.types == [pa.string()]
    with pytest.raises(TraceError, match=r"no table 'words'") as caught:
        SMALL.to_arrow("words")
    assert caught.value.hint == "It has: labels, steps."
    with pytest.raises(TraceError, match="Source has no table"):
        tables_of(Source)


def test_csv_has_what_is_within_a_row_as_json() -> None:
    assert csv.csv_table(SMALL).splitlines()[1:] == [
        '<b>\x1b,9223372036854775807,0.5,True,"{""at_ns"":1,""share"":null}","[""a"",""b""]",'
        '"[{""at_ns"":2,""share"":0.5}]"',
        "other,,1.0,False,,[],[]",
    ]
    assert csv.csv_table(SMALL, "labels").splitlines()[:2] == ["label", "x"]


def test_pandas_keeps_whole_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    frame = SMALL.to_pandas()
    assert frame.total_ns.dtype == pandas.Int64Dtype()
    assert frame.total_ns[0] == LARGE
    assert frame.total_ns[1] is pandas.NA
    assert frame.whole.tolist() == [True, False]


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_arrow does without it"):
        SMALL.to_pandas()


def test_in_a_notebook_nothing_is_markup() -> None:
    shown = SMALL._repr_html_()
    assert "<b>Small</b>" in shown
    assert "<td>&lt;b&gt;\\x1b</td><td>9223372036.855 s</td><td>50.0 %</td><td>yes</td>" in shown
    assert "<td>provenance: warnings</td><td>&lt;i&gt;odd&lt;/i&gt; mend it</td>" in shown
    assert "<td>provenance: timeline</td><td>inferred</td>" in shown
    assert "<td>a, b</td><td>1</td>" in shown
    assert "<td>busy</td><td>-</td>" in shown
    assert "<p>labels: the first 20 of 30</p>" in shown
    assert shown.count("<td>x</td>") == 20
    assert "\x1b" not in shown
    assert "<p>labels: none</p>" in LARGE_ONE._repr_html_()
