"""Parse OpenMetrics text strictly, by the ABNF of the specification 1.0 (gauges without time)."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[n"\\])*"'
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)?\}})? ({_NUMBER})")
_META = re.compile(rf"# (TYPE|UNIT|HELP) ({_NAME}) (.*)")
_PAIR = re.compile(r'(\w+)="((?:[^"\\\n]|\\[n"\\])*)"')
_PLAIN = {r"\n": "\n", r"\"": '"', r"\\": "\\"}

Labels = frozenset[tuple[str, str]]


class Family(NamedTuple):
    """One gauge."""

    unit: str
    help: str
    samples: dict[Labels, float]


def parse(text: str) -> dict[str, Family]:
    """Return the families by name. Raises AssertionError where the text breaks a rule."""
    assert text.endswith("\n# EOF\n")
    families: dict[str, Family] = {}
    meta: dict[str, dict[str, str]] = {}
    current = ""
    for line in text.removesuffix("# EOF\n").splitlines():
        if match := _META.fullmatch(line):
            kind, name, value = match.groups()
            if name != current:
                assert name not in meta, f"{name} is interleaved"
                current, meta[name] = name, {}
            assert kind not in meta[name], f"{kind} of {name} twice"
            assert not families.get(name), f"{kind} of {name} behind samples"
            meta[name][kind] = value
            continue
        match = _SAMPLE.fullmatch(line)
        assert match, line
        name, labels, number = match.groups()
        assert name == current, f"{name} without a type"
        assert meta[name]["TYPE"] == "gauge"
        unit = meta[name].get("UNIT", "")
        assert not unit or name.endswith(f"_{unit}"), f"{name} is no name in {unit}"
        family = families.setdefault(name, Family(unit, meta[name].get("HELP", ""), {}))
        pairs = [(key, _plain(value)) for key, value in _PAIR.findall(labels or "")]
        assert len(dict(pairs)) == len(pairs), line
        assert frozenset(pairs) not in family.samples, f"{line} twice"
        family.samples[frozenset(pairs)] = float(number)
    return families


def _plain(text: str) -> str:
    return re.sub(r'\\[n"\\]', lambda match: _PLAIN[match[0]], text)
