"""Build the list of rules from the rules; read the verdicts on real traces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from docs.generate.sections import between
from tb_privateuse1.advice.judged_trace import LACKS
from tb_privateuse1.advice.rank_rules import RANK_RULES
from tb_privateuse1.advice.rank_rules.rank_rule import RankRule
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import CAUSES, Rule

_SYMPTOM = " A symptom: it gets only the time that no cause explains."

_BEGIN, _END = "<!-- rules: generated -->\n", "<!-- end of rules -->\n"


_RANKS_BEGIN, _RANKS_END = "<!-- rules over ranks: generated -->\n", "<!-- end of those -->\n"


_WORD = re.compile(r"(?<![\w.:`/])\w+(?:(?:\.|::)\w+)*(?:\(\)|=\w+)?")

_JUDGED = re.compile(r"^\| `(\w+/\w+)`(?: \(rank (\d)\))? \| (.*?) \| (.*) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """A row of the table of real traces in docs/internals/advice.md."""

    trace: str
    rank: int
    found: dict[str, int | None]
    """Percent by rule; None where no saving is known."""
    verdict: str
    """``right`` or ``wrong``, and why."""


def verdicts(document: str) -> list[Verdict]:
    """Read the rows of the table of real traces."""
    return [
        Verdict(
            trace=trace,
            rank=int(rank or 0),
            found={
                name: int(share) if share else None
                for name, share in re.findall(r"`(\w+)`(?: (\d+) %)?", told)
            },
            verdict=verdict,
        )
        for trace, rank, told, verdict in _JUDGED.findall(document)
    ]


def with_rules(document: str) -> str:
    """Return docs/reference/rules.md with the current rules."""
    document = between(document, _BEGIN, "".join(_sections()), _END)
    return between(document, _RANKS_BEGIN, "".join(_rank_sections()), _RANKS_END)


def _rank_sections() -> Iterator[str]:
    yield f"\n{len(RANK_RULES)} rules.\n"
    yield from map(_rank_section, RANK_RULES.values())
    yield "\n"


def _rank_section(rule: RankRule) -> str:
    return (
        f"\n#### `{rule.name}`: {rule.title}\n\n"
        f"- **Detects**: {_coded(rule.looks_for)}\n"
        f"- **Why**: {_coded(rule.why)}\n"
        f"- **Fix**: {_coded(rule.fix)}\n"
        f"- **Threshold**: {_coded(rule.threshold)}\n"
        f"- **Reference**: {rule.reference}\n"
    )


def _coded(text: str) -> str:
    """Return a text with its names as code: Markdown would read underscores as emphasis."""

    def marked(word: re.Match[str]) -> str:
        is_name = "_" in word[0] or "::" in word[0]
        return f"`{word[0]}`" if is_name else word[0]

    return _WORD.sub(marked, text)


def _sections() -> Iterator[str]:
    yield f"\n{len(RULES)} rules.\n"
    for cause in CAUSES:
        yield f"\n### {cause.capitalize()}\n"
        for rule in RULES.values():
            if rule.cause == cause:
                yield _section(rule)
    yield "\n"


def _section(rule: Rule) -> str:
    needs = "; ".join(LACKS[need] for need in rule.needs) or "nothing in particular"
    partly = "; ".join(LACKS[need] for need in rule.partly)
    symptom = "" if rule.precedence == "cause" else _SYMPTOM
    return (
        f"\n#### `{rule.name}`: {rule.title}\n\n"
        f"- **Detects**: {_coded(rule.looks_for)}{symptom}\n"
        f"- **Why**: {_coded(rule.why)}\n"
        f"- **Fix**: {_coded(rule.fix)}\n"
        f"- **Threshold**: {_coded(rule.threshold)}\n"
        f"- **Needs**: {needs}{partly and f'; for all of it {partly}'}\n"
        f"- **Reference**: {rule.reference}\n"
        f"{_code(rule)}"
    )


def _code(rule: Rule) -> str:
    """Return the code before and after the fix, or nothing."""
    if rule.code is None:
        return ""
    parts = (("Before", rule.code.before), ("After", rule.code.after))
    return "".join(f"\n{word}:\n\n```text\n{code}\n```\n" for word, code in parts)
