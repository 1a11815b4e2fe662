"""``tb_privateuse1.rules`` of version 0.1: use ``tb_privateuse1.advice.rules``."""

from __future__ import annotations

from tb_privateuse1.advice import rules

__all__ = ["RULES"]

RULES = tuple(rules.RULES.values())
