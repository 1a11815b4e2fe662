"""Sizes and types of an operator's inputs: torch_npu writes texts, torch JSON lists.

The texts have a semicolon between inputs, in a database and in ``trace_view.json`` alike
(torch_npu, ``profiler/analysis/prof_bean/_torch_op_bean.py``).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable

from msgspec.structs import replace

from tb_privateuse1.readers.ascend.metadata import decoded
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.readers.sqlite.columns import Strings
from tb_privateuse1.trace.table import I32

_SIZES = re.compile(r"-?\d{1,18}(\s*,\s*-?\d{1,18})*")
_PIECES = re.compile(r";\s*")
_LONGEST = 1 << 20


def sizes_as_json(text: str) -> str:
    """Return the sizes of inputs, ``2,3;4;``, as torch writes them: ``[[2,3],[4],[]]``."""
    pieces = _PIECES.split(text[:_LONGEST].strip())
    sizes = [
        [int(number) for number in piece.split(",")] if _SIZES.fullmatch(piece) else []
        for piece in pieces
    ]
    return json.dumps(sizes, separators=(",", ":"))


def types_as_json(text: str) -> str:
    """Return the types of inputs, ``float;c10::Half``, as a JSON list."""
    return json.dumps(_PIECES.split(text[:_LONGEST].strip()), separators=(",", ":"))


def with_json_inputs(raw: Raw) -> Raw:
    """Return the raw columns of ``trace_view.json`` with inputs as torch writes them."""
    group = raw.groups.get("cpu_op")
    if group is None or not group.texts.keys() & {"shapes", "dtypes"}:
        return raw
    strings = Strings(raw.strings)
    texts: dict[str, I32] = dict(group.texts)
    for key, change in (("shapes", sizes_as_json), ("dtypes", types_as_json)):
        if key in texts:
            texts[key] = strings.convert(texts[key], functools.partial(_changed, change))
    groups = {**raw.groups, "cpu_op": replace(group, texts=texts)}
    return replace(raw, groups=groups, strings=tuple(strings.all))


def _changed(change: Callable[[str], str], text: str) -> str:
    """Return the content of a JSON string after a change; another JSON value as it is."""
    value = decoded(text.encode()) if text.startswith('"') else None
    return change(value) if isinstance(value, str) else text
