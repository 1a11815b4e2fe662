"""The JSON of a report fits, and cannot end its element."""

from __future__ import annotations

import json

import pytest

from tb_privateuse1.export.reports.html.budget import Cut, fit, to_script


def test_what_fits_stays_as_it_is() -> None:
    value = {"rows": [{"name": "x" * 3000, "ns": 1}] * 10, "none": None}
    assert fit(value, 100_000) == (value, (), 4000)


def test_lists_are_cut_and_counted() -> None:
    value = {"a": {"steps": list(range(100_000))}, "b": [{"c": list(range(3000))}] * 2}
    found, cuts, _ = fit(value, 30_000)
    shown = len(found["a"]["steps"])
    assert found["a"]["steps"] == list(range(shown))
    assert cuts[0] == Cut("a.steps", shown, 100_000)
    assert cuts[1] == Cut("b.c", 2 * shown, 6000)


@pytest.mark.parametrize("most", [2_000, 200_000])
def test_it_fits_whatever_the_names(most: int) -> None:
    value = {"rows": [{"name": f"{i}" + "<&\u2028" * 500} for i in range(1000)]}
    found, cuts, letters = fit(value, most)
    assert len(to_script(found)) <= most
    assert all(len(row["name"]) <= letters for row in found["rows"])
    assert sum(cut.total for cut in cuts) in (0, 1000)


def test_nothing_fits_into_nothing() -> None:
    with pytest.raises(ValueError, match="10 bytes"):
        fit({"name": "x" * 100}, 10)


def test_no_text_ends_the_script() -> None:
    nasty = "</script><script>alert(1)</script><!-- \u2028\u2029 ]]> &lt;"
    found = to_script({nasty: nasty}).decode()
    assert not set("<>&\u2028\u2029") & set(found)
    assert json.loads(found) == {nasty: nasty}
