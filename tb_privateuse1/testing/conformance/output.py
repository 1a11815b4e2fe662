"""The scorecard as text for people, and as a badge."""

from __future__ import annotations

import textwrap

from tb_privateuse1.testing.conformance.scorecard import Scorecard

_WORDS = {"ok": "ok", "warn": "WARN", "fail": "FAIL", "unknown": "?", "none": "-"}
_TALLY = {"ok": "ok", "warn": "warn", "fail": "fail", "unknown": "unknown", "none": "not judged"}
_COLORS = {"A": "#2e7d32", "B": "#558b2f", "C": "#b7791f", "D": "#c05621", "E": "#c53030"}
"""With white letters each has the contrast of 4.5 that WCAG wants."""
_WIDTH = 100


def text(card: Scorecard) -> str:
    """Return the scorecard as lines; those that are not in order say what to do."""
    shown = [f"{card.identity['backend']} with torch {card.identity['torch']}", ""]
    for line in card.lines:
        requirement, answer = line.requirement, line.answer
        word = _WORDS[answer.verdict]
        shown.append(f"{word:>5}  {requirement.code:<18} {requirement.title}: {answer.measured}")
        if answer.verdict in ("warn", "fail"):
            shown += textwrap.wrap(
                requirement.consequence, _WIDTH, initial_indent=" " * 7, subsequent_indent=" " * 7
            )
            shown += [f"         | {one}" for one in requirement.remedy.splitlines()]
            if requirement.guide:
                shown.append(f"         see {requirement.guide}")
    shown.append("")
    if card.grade is not None:
        shown.append(f"accuracy class {card.grade.letter}: {card.grade.meaning}")
        shown.append(f"why: {card.grade.reason}")
    some = [f"{count} {_TALLY[verdict]}" for verdict, count in card.counts.items() if count]
    shown.append(f"{', '.join(some)}; {card.seconds:.1f} s")
    return "\n".join(shown) + "\n"


def badge(card: Scorecard) -> str:
    """Return a badge in SVG: *device times* and the class."""
    letter = card.grade.letter if card.grade else "?"
    color = _COLORS.get(letter, "#555")
    label = f"device times: {letter}"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="108" height="20" role="img" '
        f'aria-label="{label}"><title>{label}</title>'
        '<rect width="84" height="20" fill="#444"/>'
        f'<rect x="84" width="24" height="20" fill="{color}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="42" y="14">device times</text><text x="96" y="14">{letter}</text></g></svg>\n'
    )
