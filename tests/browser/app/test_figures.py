"""Figures as people read them: exact times have a unit of their size."""

from __future__ import annotations

import re

import pytest

from tests.support.axe import settled
from tests.support.dashboard import Dashboard

_TITLES = "() => [...document.querySelectorAll('[title]')].map((e) => e.title)"
_MILLIONS_OF_NS = re.compile(r"\d{1,3}(,\d{3}){2,}\s*ns")
_FRACTIONS = re.compile(r"\d\.\d{4,} (ms|s)\b")


@pytest.mark.parametrize("view", ["overview", "kernels", "operators", "modules", "memory"])
def test_no_tooltip_counts_millions_of_nanoseconds(dashboard: Dashboard, view: str) -> None:
    settled(dashboard.open(run="mlp", view=view))
    titles = dashboard.frame.evaluate(_TITLES)
    assert [title for title in titles if _MILLIONS_OF_NS.search(title)] == []
    if view == "overview":  # they are exact all the same
        assert any(_FRACTIONS.search(title) for title in titles)
