"""``tb_privateuse1.rules.base`` of version 0.1: use ``tb_privateuse1.advice.rules.base``."""

from __future__ import annotations

import warnings
from typing import Any

from tb_privateuse1.advice.judged_trace import LACKS, Need
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import base
from tb_privateuse1.advice.rules.base import RuleFinding, percent
from tb_privateuse1.i18n import join_list, join_sentences, plural, say

Case = RuleContext
Found = RuleFinding
listed = join_list
sentences = join_sentences


def Rule(*values: Any, rank: base.Precedence | None = None, **fields: Any) -> base.Rule:  # noqa: N802
    """Return a rule; ``rank`` was the name of ``precedence`` in version 0.1."""
    if rank is not None:
        fields["precedence"] = rank
    return base.Rule(*values, **fields)


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
