"""Write recorded calls as scripts: one file each, which needs torch alone."""

from __future__ import annotations

import ast
import pprint
import re
from pathlib import Path

import msgspec

from tb_privateuse1.export.taken.recorded_calls import RecordedCall
from tb_privateuse1.trace.version import VERSION

_FOLDER = Path(__file__).parent
_IMPORTED = "import torch\n"
_NO_CASE = re.compile(r'^CASE: .*\n""".*"""\n', re.MULTILINE)
_WIDTH = 96


def script(call: RecordedCall) -> str:
    """Return the source of the script that runs a call again.

    What is from the trace is in it as literals of Python: no text of a trace is code.
    """
    literal = pprint.pformat(msgspec.to_builtins(call), width=_WIDTH, sort_dicts=False)
    case = f"{_IMPORTED}\nCASE: dict[str, Any] = {literal}\n"
    recipe = _source("operator_call").replace(_IMPORTED, case, 1)
    recipe = recipe.replace('"""', f'"""{_heading(call)}', 1)
    return f"{recipe}\n\n{_NO_CASE.sub('', _without_imports(_source('run_operator')), count=1)}"


def filename(call: RecordedCall, number: int | None = None) -> str:
    """Return the name of a script's file, such as ``01_aten_mm.py``, in safe characters."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", call.operator).strip("_")[:60]
    return f"{name}.py" if number is None else f"{number:02}_{name}.py"


def _heading(call: RecordedCall) -> str:
    name = re.sub(r"[^\w:.]", "_", call.operator)
    return (
        f"Run {name} as it was recorded: python THIS_FILE --device NAME (--help lists all options)"
        f".\n\nIt needs torch alone. Edit CASE to try other shapes, types or values. Written by "
        f"tb_privateuse1 {VERSION}.\n\n"
    )


def _source(module: str) -> str:
    return (_FOLDER / f"{module}.py").read_text(encoding="utf-8")


def _without_imports(source: str) -> str:
    """Return a module without its docstring and what it imports from its own package."""
    lines = source.splitlines(keepends=True)
    for node in ast.parse(source).body:
        own = isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in (
            "__future__",
            "tb_privateuse1",
        )
        if node.lineno == 1 or own:
            lines[node.lineno - 1 : node.end_lineno] = [""] * (
                (node.end_lineno or node.lineno) - node.lineno + 1
            )
    return "".join(lines).lstrip()
