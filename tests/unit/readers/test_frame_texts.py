"""Texts of stacks: one for each distinct list of frames."""

from __future__ import annotations

from tb_privateuse1.readers import frame_texts
from tb_privateuse1.readers.chrome.problem_tally import Tally


def test_a_stack_is_a_text_of_its_python_frames() -> None:
    texts: list[str] = []
    python = {"filename": "/job/a.py", "line": 3, "name": "f;g"}
    native = {"filename": "??", "line": 0, "name": "c10::empty"}
    lists = [[native, python], [native], None, [python, native], [{"filename": 3}]]
    column = frame_texts.Stacks(texts, Tally()).column(lists)
    assert column.tolist() == [0, 1, -1, 0, 2]
    assert texts == ["/job/a.py(3): f,g", "??(0): c10::empty", "??(0): ??"]
