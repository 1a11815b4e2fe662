"""Tests of one group run on one worker."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("together")
def test_a_group_is_part_of_the_name_by_which_xdist_spreads_tests(
    request: pytest.FixtureRequest,
) -> None:
    """With ``--dist loadgroup``, which ``make test`` uses; pytest 9.2 lost the group silently."""
    is_grouped = request.config.getoption("loadgroup", False)
    assert request.node.nodeid.endswith("@together") is is_grouped
