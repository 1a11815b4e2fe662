"""Results of the same scripts on two devices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tb_privateuse1.export.taken.results import compared
from tb_privateuse1.trace.errors import TraceError


def line(ns: float, *, size: int = 4, agree: bool | None = True, **here: Any) -> str:
    inputs = [{"tensor": [size, size], "strides": None, "dtype": "float32"}, {"value": "1"}]
    found = {"device": "acme", "ns": ns, "host_bound": False, "agree": agree, **here}
    return json.dumps({"operator": "aten::mm", "inputs": inputs, "here": found})


def test_each_call_of_both_with_its_ratio() -> None:
    first = "\n".join((line(2000), line(8000, size=8), line(1, size=9)))
    second = "\n".join((line(9), line(3000, agree=None), line(4000, size=8, host_bound=True)))
    head, _, slow, fast, rest = compared(first, second)
    assert head == "A: acme   B: acme"
    assert slow.split() == ["8", "<4", "0.500", "agree", "aten::mm", "float32[8,", "8]"]
    assert fast.split()[:4] == ["2", "3", "1.500", "unknown"]
    assert rest == "1 calls are in one of the files only."


def test_numbers_that_differ_are_said() -> None:
    assert "differ" in list(compared(line(1), line(1, agree=False)))[2]


@pytest.mark.parametrize(
    "text", ["{", "[]", "7", "", '{"operator": "a"}', line(1).replace('"dtype"', '"x"'), line(0)]
)
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(TraceError) as error:
        list(compared(line(1), text))
    assert error.value.code == "bad_option"
    with pytest.raises(TraceError):
        list(compared(text, line(1)))
