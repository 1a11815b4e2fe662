"""A rule's text has its thresholds from its constants: a changed constant changes the text."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Mapping

import pytest

from tb_privateuse1.advice.rank_rules import RANK_RULES
from tb_privateuse1.advice.rank_rules.rank_rule import RankRule
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import Rule

TEXTS = ("looks_for", "threshold")
"""The texts that say when a rule speaks; figures in the others are the field's."""

_CODE = re.compile(r"`[^`]*`|\w+=\S+")
_NUMBER = re.compile(r"(?<![\w.{-])(\d+(?:\.\d+)?)(?: (%|KiB|MiB|GiB))?(?![\w.]*\w)")
_UNITS = {"": 1.0, "%": 0.01, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def typed_by_hand(template: str, constants: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the numbers of a template that are also a constant's value, with its name."""
    return [
        (f"{number} {unit}".strip(), name)
        for number, unit in _NUMBER.findall(_CODE.sub("", template))
        for name, value in constants.items()
        if math.isclose(value, float(number) * _UNITS[unit])
    ]


@pytest.mark.parametrize(
    "rule", [*RULES.values(), *RANK_RULES.values()], ids=lambda rule: rule.name
)
def test_no_threshold_is_typed_by_hand(rule: Rule | RankRule) -> None:
    """Write ``{least}`` and ``least=exact_percent(_LEAST)``."""
    module = vars(importlib.import_module(rule.check.__module__))
    constants = {
        name: value
        for name, value in module.items()
        if name.isupper() and isinstance(value, int | float)
    }
    texts = {name: getattr(rule, name) for name in TEXTS}
    templates = {name: getattr(text, "template", text) for name, text in texts.items()}
    found = {name: typed_by_hand(text, constants) for name, text in templates.items()}
    assert {name: numbers for name, numbers in found.items() if numbers} == {}


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("3 % of the step", [("3 %", "_LEAST")]),
        ("1 MiB a step, in 50 tasks", [("1 MiB", "_SMALL"), ("50", "_MANY")]),
        ("5 % of the step, in 150 tasks", []),
        ("{least} of float50, `at 50`, num_workers=50 or 50.5", []),
    ],
)
def test_a_number_that_is_a_constant_is_found(template: str, found: list[tuple[str, str]]) -> None:
    constants = {"_LEAST": 0.03, "_MANY": 50, "_SMALL": 1 << 20}
    assert typed_by_hand(template, constants) == found
