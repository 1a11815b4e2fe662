"""Each view as a method of its name. The types are in the generated ``views/methods.pyi``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection
from tb_privateuse1.views.signature import reads_of

SELECTION = {"run": "str | None", "rank": "int | None", "span": "int | None"}
BASE = "Selection | None"


class ViewMethods:
    """A class with these methods sets ``_reader``, which answers them."""

    _reader: Reader

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in VIEWS:
            raise AttributeError(f"there is no view {name!r}, only {', '.join(VIEWS)}")
        return self._method(VIEWS[name])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *VIEWS]

    def _method(self, view: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(view)
        def method(
            *,
            run: str | None = None,
            rank: int | None = None,
            span: int | None = None,
            base: Selection | None = None,
            **options: Any,
        ) -> Any:
            return self._reader.run(Request(view, Selection(run, rank, span), base, options))

        method.__signature__ = _signature(view)  # type: ignore[attr-defined]
        return method


def _signature(view: Callable[..., Any]) -> inspect.Signature:
    signature = inspect.signature(view)
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [p for p in signature.parameters.values() if p.kind is keyword]
    selection = SELECTION | ({"base": BASE} if "base" in reads_of(view) else {})
    chosen = [
        inspect.Parameter(name, keyword, default=None, annotation=kind)
        for name, kind in selection.items()
    ]
    return signature.replace(parameters=[*own, *chosen])
