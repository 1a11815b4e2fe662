"""The verdict and the advice name one function for one cause, on recordings with Python frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tb_privateuse1.advice.engine import built_in_advice
from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.operators.library_frames import is_library
from tb_privateuse1.analysis.simulation.verdict import steady_verdict
from tests.support.shared_traces import MORE, TRACES, load, needs_traces

RECORDINGS = (
    "cuda/b200_eager", "cuda/h100_bert", "cuda/h100_nsfw_vit", "cuda/h100_qwen",
    "cuda/h100_timesformer", "rocm/mi300_bert", "rocm/mi300_nsfw_vit", "rocm/mi300_owlv2",
    "rocm/mi300_resnet_ddp_no_pool", "rocm/xdit_sd35", "privateuse1/mlp_item_kineto",
)  # fmt: skip
PATHS = [path for path in (*TRACES, *MORE) if "/".join(path.parts[-3:-1]) in RECORDINGS]

RULES: Mapping[ClassName, tuple[str, ...]] = {
    "dispatch": ("host_bound",),
    "launch_call": ("host_bound",),
    "python": ("python_overhead", "host_bound"),
    "input": ("data_loader", "single_process_loader"),
    "device_memory": ("device_malloc",),
}
"""The rules whose finding is about a class of the account; the first one there counts."""


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize("path", PATHS, ids=lambda p: "/".join(p.parts[-3:-1]))
def test_the_verdict_and_the_advice_name_one_function(path: Path) -> None:
    trace = load(path)
    verdict, advice = steady_verdict(trace), built_in_advice(trace)
    assert verdict is not None
    found = {row.rule: row.where for row in advice.rows}
    rules = [rule for rule in RULES.get(verdict.time_class, ()) if rule in found]
    if rules:
        where = found[rules[0]]
        assert verdict.where is not None
        assert where is not None
        assert where.title == verdict.where.title
    named = [one for one in (verdict.where, *found.values()) if one is not None]
    assert not [one for one in named if is_library(f"{one.file}({one.line or 0}): {one.name}")]
