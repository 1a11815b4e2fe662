"""Names of functions, with their classes and lines as far as they are known."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.operators.function_names import (
    call_title,
    function_title,
    qualified_name,
    without_folders,
)
from tests.support import make

BEGIN = make.frame("train.py(90): begin", 0, 1)
"""Called first: rows behind it were not open when the recording began."""


def test_a_modules_forward_has_its_class() -> None:
    """Wrappers in between do not count, and neither does a method of another name."""
    trace = make.trace(
        BEGIN, make.frame("nn.Module: Net_3", 5, 50),
        make.frame("torch/nn/modules/module.py(1782): _call_impl", 6, 49),
        make.frame("hf/generic.py(9): wrapper", 7, 48),
        make.frame("net.py(5): forward", 8, 47), make.frame("net.py(30): forward", 9, 40),
        make.frame("net.py(60): attend", 41, 42),
    )  # fmt: skip
    names = {
        "net.py(5): forward": "Net.forward (net.py:5)",
        "net.py(30): forward": "forward (net.py:30)",
        "net.py(60): attend": "attend (net.py:60)",
        "<built-in method item of X>": "<built-in method item of X>",
    }
    assert {one: function_title(trace, one, begins=True) for one in names} == names


def test_a_forward_that_several_classes_inherit_has_none() -> None:
    trace = make.trace(
        BEGIN, make.frame("nn.Module: A_0", 5, 20), make.frame("base.py(5): forward", 6, 19),
        make.frame("nn.Module: B_0", 25, 40), make.frame("base.py(5): forward", 26, 39),
    )  # fmt: skip
    assert qualified_name(trace, "base.py(5): forward", begins=True) == "forward"


def test_the_line_of_a_frame_that_was_open_is_not_its_first() -> None:
    """torch gives such a frame the line that ran when the recording began."""
    trace = make.trace(
        make.frame("run.py(47): <module>", 0, 100), make.frame("run.py(30): main", 1, 99),
        make.frame("torch/profiler/profiler.py(9): step", 2, 9),
        make.frame("run.py(12): step", 20, 40), make.frame("run.py(12): step", 50, 60),
    )  # fmt: skip
    titles = [
        function_title(trace, f"run.py({line}): {name}", begins=True)
        for line, name in ((47, "<module>"), (30, "main"), (12, "step"))
    ]
    assert titles == ["<module> (run.py)", "main (run.py)", "step (run.py:12)"]


def test_the_source_says_where_an_open_function_begins() -> None:
    """Of two of one name it is the last one before the line that ran."""
    functions = [[12, "main", {}], [20, "App.main", {}], [40, "Other.main", {}]]
    trace = make.trace(
        make.frame("run.py(30): main", 0, 99), make.frame("x.py(1): f", 20, 30),
        make.frame("x.py(1): f", 40, 50), tb_privateuse1_functions=[["/job/run.py", functions]],
    )  # fmt: skip
    assert function_title(trace, "run.py(30): main", begins=True) == "App.main (run.py:20)"


def test_dynamos_rest_of_a_function_is_the_function() -> None:
    name = "net.py(5): torch_dynamo_resume_in_forward_at_61"
    trace = make.trace(BEGIN, make.frame(name, 5, 50))
    assert function_title(trace, name, begins=True) == "forward (net.py:5)"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("<built-in method tensor of type object at 0x7f12>", "tensor()"),
        ("<built-in function collect>", "collect()"),
        ("train.py(7): prepare", "prepare (train.py:7)"),
        ("nn.Module: Linear_3", "nn.Module: Linear"),
    ],
)
def test_a_call_has_the_title_that_people_use(name: str, title: str) -> None:
    made = make.trace(BEGIN, make.frame(name, 11, 19))
    assert call_title(made, name) == title


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("run (moca/library/pipeline/model.py:40)", "run (model.py:40)"),
        ("fn (/app/base_pipeline.py:272)", "fn (base_pipeline.py:272)"),
        ("torch/utils/data/dataloader.py(728): __next__", "dataloader.py(728): __next__"),
        ("a/train.py:12 in step", "train.py:12 in step"),
        ("main (train.py)", "main (train.py)"),
        ("Torch-Compiled Region: 0/0", "Torch-Compiled Region: 0/0"),
        ("aten::mm", "aten::mm"),
    ],
)
def test_a_title_without_folders(title: str, short: str) -> None:
    assert without_folders(title) == short
