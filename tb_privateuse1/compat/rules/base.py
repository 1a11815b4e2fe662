"""``tb_privateuse1.rules.base`` of version 0.1: use ``tb_privateuse1.advice.rules.base``."""

from __future__ import annotations

import warnings

from tb_privateuse1.advice.rules.base import (
    LACKS,
    Need,
    Rule,
    RuleContext,
    RuleFinding,
    join_list,
    join_sentences,
    percent,
    plural,
    say,
)

Case = RuleContext
Found = RuleFinding
listed = join_list
sentences = join_sentences

__all__ = [
    "LACKS",
    "Case",
    "Found",
    "Need",
    "Rule",
    "listed",
    "percent",
    "plural",
    "say",
    "sentences",
]

warnings.warn(
    "tb_privateuse1.rules.base is now tb_privateuse1.advice.rules.base",
    DeprecationWarning,
    stacklevel=2,
)
