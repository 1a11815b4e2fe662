"""Write the stub from which type checkers and editors know the views' methods."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.methods import BASE, SELECTION
from tb_privateuse1.views.signature import query_of, reads_of

_HEAD = '''"""Types of the views' methods. Generated: ``make api`` writes it."""

from typing import Literal

from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Selection
{imports}

class ViewMethods:
    _reader: Reader

'''


def view_methods(_: str) -> str:
    """Return ``views/methods.pyi``: a typed method for each view."""
    results = {name: typing.get_type_hints(view)["return"] for name, view in VIEWS.items()}
    imports = sorted(f"from {kind.__module__} import {kind.__name__}" for kind in results.values())
    methods = [_method(name, view, results[name]) for name, view in VIEWS.items()]
    return "".join([_HEAD.format(imports="\n".join(imports)), *methods])


def _method(name: str, view: Callable[..., Any], result: type[Any]) -> str:
    own = [f"{option}: {_written(kind)} = {default!r}" for option, kind, default in query_of(view)]
    selection = SELECTION | ({"base": BASE} if "base" in reads_of(view) else {})
    chosen = [f"{option}: {kind} = None" for option, kind in selection.items()]
    lines = "".join(f"        {parameter},\n" for parameter in ("self", "*", *own, *chosen))
    summary = (view.__doc__ or "").partition("\n")[0]
    return f'    def {name}(\n{lines}    ) -> {result.__name__}:\n        """{summary}"""\n\n'


def _written(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
