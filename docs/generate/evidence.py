"""Build the table of evidence: for each rule the recordings in which it is right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.planted.evidence import FURTHER
from benchmarks.planted.expected import RULES_OF
from docs.generate.rules import verdicts
from docs.generate.sections import between, table
from tb_privateuse1.advice.rules import RULES

PROGRAMS = Path(__file__).parents[1] / "internals" / "advice-programs.md"
"""Tables of planted faults, beside those of advice.md."""

_BEGIN, _END = "<!-- evidence: generated -->\n", "<!-- end of the evidence -->\n"
_HEADS = ("rule", "real recordings", "programs with a planted fault", "others")
_FOUND = ("found by", "found", "now")
"""Columns with the rules that found a fault."""

_CELLS = re.compile(r"(?<!\\)\|")
_NAME = re.compile(r"`(\w+)`")


def with_evidence(document: str) -> str:
    """Return docs/internals/advice.md with the current table of evidence."""
    recordings, faults = right_on(document), found_in(document + PROGRAMS.read_text())
    rows: list[tuple[str, ...]] = [
        (
            f"`{name}`",
            ", ".join(f"`{place}`" for place in recordings.get(name, ())),
            ", ".join(f"`{fault}`" for fault in faults.get(name, ())),
            f"`{FURTHER[name].path}`: {FURTHER[name].why}" if name in FURTHER else "",
        )
        for name in RULES
    ]
    return between(document, _BEGIN, f"\n{table(_HEADS, rows)}\n", _END)


def right_on(document: str) -> dict[str, list[str]]:
    """Return by rule the judged recordings on which it is right."""
    places: dict[str, list[str]] = {}
    for row in verdicts(document):
        for rule in row.found if row.verdict.startswith("right") else ():
            places.setdefault(rule, [])
            if row.trace not in places[rule]:
                places[rule].append(row.trace)
    return places


def found_in(document: str) -> dict[str, list[str]]:
    """Return by rule the planted faults that it found and was meant to find."""
    faults: dict[str, list[str]] = {}
    for fault, rules in _found(document):
        for rule in rules:
            if rule in RULES_OF[fault] and fault not in faults.setdefault(rule, []):
                faults[rule].append(fault)
    return faults


def _found(document: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each row of a table of faults, with the rules in its column of findings."""
    heads: list[str] = []
    for line in document.splitlines():
        cells = [cell.strip() for cell in _CELLS.split(line)[1:-1]] if line[:1] == "|" else []
        if not heads or len(cells) != len(heads):
            heads = cells if cells[:1] == ["fault"] else []
            continue
        column = next((heads.index(head) for head in _FOUND if head in heads), None)
        name = _NAME.match(cells[0])
        if column is not None and name and name[1] in RULES_OF:
            yield name[1], _NAME.findall(cells[column])
