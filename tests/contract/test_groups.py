"""Tests of one group run on one worker."""

from __future__ import annotations

import pytest

from tests.support.alone import without_group


@pytest.mark.xdist_group("together")
def test_a_group_is_part_of_the_name_by_which_xdist_spreads_tests(
    request: pytest.FixtureRequest,
) -> None:
    """With ``--dist loadgroup``, which ``make test`` uses; pytest 9.2 lost the group silently."""
    is_grouped = request.config.getoption("loadgroup", False)
    assert request.node.nodeid.endswith("@together") is is_grouped


def test_what_failed_is_named_without_its_group() -> None:
    assert without_group("tests/a.py::test_b[x@y]@server/test_a.py") == "tests/a.py::test_b[x@y]"
    assert without_group("tests/a.py::test_b@together") == "tests/a.py::test_b"
    assert without_group("tests/a.py::test_b[x@y]") == "tests/a.py::test_b[x@y]"
