"""Build SARIF 2.1.0 logs for code scanning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.i18n.units import plain_text
from tb_privateuse1.trace.version import VERSION

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

Level = Literal["error", "warning", "note"]


def sarif_log(rules: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> str:
    """Return a log with one run of this program."""
    driver = {"name": "tb_privateuse1", "version": VERSION, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def sarif_result(
    rule: str,
    level: Level,
    message: str,
    where: ProgramFunction | None,
    properties: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a result at the line of a call, or where its function begins."""
    entry: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": {"text": plain_text(message)},
        "properties": properties,
    }
    if where is not None:
        physical = {
            "artifactLocation": {"uri": plain_text(where.file)},
            "region": {"startLine": max(1, where.near_line)},
        }
        entry["locations"] = [{"physicalLocation": physical}]
    return entry
