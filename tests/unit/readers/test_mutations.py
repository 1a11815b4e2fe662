"""Traces, packed traces and archives whose bytes change: sums stay, or a finding says why not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support import execution_trace_mutation
from tests.support.file_mutation import KINDS, mutations


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_sums_are_those_of_plain_python(tmp_path: Path, name: str) -> None:
    """A part of what ``python -m tests.support.file_mutation`` does."""
    kinds = mutations(KINDS[name], random.Random(7), 100, tmp_path)
    assert kinds["same"] > 0
    assert kinds.total() == 100


@pytest.mark.long
def test_sums_of_execution_traces_are_those_of_plain_loops(tmp_path: Path) -> None:
    """A part of what ``python -m tests.support.execution_trace_mutation`` does."""
    kinds = execution_trace_mutation.mutations(random.Random(7), 100, tmp_path)
    assert kinds["same"] > 0
    assert kinds["partial"] > 0
