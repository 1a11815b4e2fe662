"""Work models by operator name: one family each, and a test for every family."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tb_privateuse1.analysis.work import models, registry


def test_a_name_is_in_one_family() -> None:
    names = Counter(name for family in registry.FAMILIES for name in family.MODELS)
    assert [name for name, count in names.items() if count > 1] == []
    assert len(registry.MODELS) == names.total()


def test_names_are_reduced() -> None:
    plain = [name for name in registry.MODELS if "::" not in name]
    assert [name for name in plain if registry.reduced_name(f"aten::{name}") != name] == []


@pytest.mark.parametrize("family", models.__all__)
def test_a_family_has_a_test(family: str) -> None:
    assert (Path(__file__).parent / "models" / f"test_{family}.py").exists()


@pytest.mark.parametrize(
    ("name", "reduced"),
    [
        ("aten::mm", "mm"),
        ("aten::add_", "add"),
        ("aten::add.Tensor", "add"),
        ("aten::mm_out", "mm"),
        ("npu::_softmax", "_softmax"),
        ("aten::__iand__", "__and__"),
        ("aten::__and__", "__and__"),
        ("torch_ops::addmm", "addmm"),
        ("mm", "mm"),
        ("", ""),
    ],
)
def test_reduced_names(name: str, reduced: str) -> None:
    assert registry.reduced_name(name) == reduced


def test_unknown_names_have_no_model() -> None:
    assert registry.model_of("aten::view") is None
    assert registry.model_of("fbgemm::lookup") is None
