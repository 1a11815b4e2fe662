"""Traces, packed traces and archives whose bytes change: sums stay, or a finding says why not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.file_mutation import KINDS, mutations


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_sums_are_those_of_plain_python(tmp_path: Path, name: str) -> None:
    """A part of what ``python -m tests.support.file_mutation`` does."""
    kinds = mutations(KINDS[name], random.Random(7), 100, tmp_path)
    assert kinds["same"] > 0
    assert kinds.total() == 100
