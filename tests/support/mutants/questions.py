"""Ask everything of one recording: views, look-ups, exports, reports, agents' tools, odd calls.

A ``TraceError`` with a code of its own is an answer; ``internal`` and every other exception is a
mistake of ours, as is JSON that a browser refuses, and more than ``MOST_SECONDS`` of CPU time.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.catalog import Catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.export import formats
from tb_privateuse1.export.reports import advice, junit, markdown, text
from tb_privateuse1.export.reports.html import contents, document
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.agents.answers import Answers, parse_call
from tb_privateuse1.server.agents.tools import TOOLS, schema
from tb_privateuse1.storage.event_record import read_record
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS, signature
from tb_privateuse1.views.encoding import encode, encode_columns
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import SELECTION, Selection, parse_request
from tests.support import invariants

MOST_SECONDS = 10
NUMBERS = (0, 1, 2, 7, -1, 1000, 10**12, -(10**12), 1 << 62)
ODD = (
    "", "-1", "NaN", "1e999", "9" * 40, "\ud800", "\x00", "../../etc/passwd", "a" * 3000, "[" * 50,
    "'; drop table ops; --", "<script>", "0..1", "漢字", "name,-calls",
)  # fmt: skip
_ODD_JSON: tuple[Any, ...] = (
    None,
    True,
    -1,
    1 << 70,
    0.5,
    float("inf"),
    [],
    {},
    ["a", "\ud800"],
    [[]],
    *ODD,
)
_ASKED: dict[str, Callable[..., Any]] = {**VIEWS, **LOOKUPS, "event": read_record}


class Questions:
    """Counts answers by kind, keeps failures, and knows the slowest answer."""

    def __init__(self, cache: Path) -> None:
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest: tuple[float, str] = (0.0, "")
        self._cache = cache
        self._place = ""

    def ask(self, rng: random.Random, place: str, logdir: Path) -> None:
        """Ask everything of a logdir's first recording; ``place`` is for messages."""
        self._place = place
        store = Store(jobs=0, cache_dir=self._cache)
        try:
            found = self._asked("reading", "scan", lambda: catalog.scan(str(logdir), READERS))
            if found is None or not found.files:
                return
            where, files = next(iter(found.files.items()))
            trace = self._asked("reading", "trace", lambda: store.trace(files))
            if trace is not None:
                self._asked("sums", "invariants", lambda: invariants.check(trace))
                asked = _Recording(self, rng, store, found, Selection(*where), files, trace)
                asked.ask()
        finally:
            store.close()

    def _asked(self, kind: str, name: str, work: Callable[[], Any]) -> Any:
        """Return an answer; None if it is an error with words of its own, or a mistake of ours."""
        started = time.process_time()
        self.answers[kind] += 1
        try:
            return work()
        except TraceError as error:
            if error.code == "internal" or not _is_text(f"{error.message}{error.hint}"):
                self._fail(name, f"{error.code} {error.message!r}")
        except Exception as error:
            self._fail(name, repr(error))
        finally:
            self._time(time.process_time() - started, name)
        return None

    def _fail(self, name: str, what: str) -> None:
        self.failures.append(f"{self._place}: {name}: {what}"[:600])

    def _time(self, seconds: float, name: str) -> None:
        self.slowest = max(self.slowest, (seconds, f"{self._place}: {name}"))
        if seconds > MOST_SECONDS:
            self._fail(name, f"{seconds:.1f} s")


class _Recording:
    """One recording, and where to ask about it."""

    def __init__(
        self,
        asked: Questions,
        rng: random.Random,
        store: Store,
        found: Catalog,
        selection: Selection,
        files: TraceFiles,
        trace: Trace,
    ) -> None:
        self._asked, self._rng = asked._asked, rng
        self._reader = Reader(store, found)
        self._agents = Answers(_Found(found), store, self._reader)  # type: ignore[arg-type]
        self._found, self._selection, self._files, self._trace = found, selection, files, trace

    def ask(self) -> None:
        for name, view in _ASKED.items():
            texts = _options(self._rng, self._trace, view)
            self._asked("views", f"{name} {texts}", partial(self._view, name, texts))
        for form in formats.FORMATS:
            window = self._rng.choice([EVERYTHING, EVERYTHING, _window(self._rng)])
            self._asked("exports", f"export {form} {window}", partial(self._export, form, window))
        self._asked("reports", "report", self._reports)
        for tool in TOOLS:
            given = self._arguments(schema(tool)["properties"])
            self._asked("tools", f"tool {tool.name} {given}", partial(self._call, tool.name, given))
        self._hostile()

    def _export(self, form: formats.FormatName, window: Window) -> None:
        for _ in formats.stream(form, self._trace, self._files, window):
            pass

    def _view(self, name: str, texts: Mapping[str, str]) -> None:
        place = {key: str(getattr(self._selection, key)) for key in SELECTION}
        result = self._reader.run(parse_request(name, {**place, **texts}))
        json.loads(encode(result), parse_constant=no_json)
        encode_columns(result, "zh")
        if name not in LOOKUPS and name != "event":
            text.text_report(result)
        if name == "advice":
            advice.advice_markdown(result)
            advice.advice_sarif(result)
        if name == "diff":
            markdown.markdown_report(result)
            junit.junit_report(result)

    def _reports(self) -> None:
        made = contents.trace_report(self._reader, self._found, self._selection, "")
        language = self._rng.choice(["en", "zh"])
        document.document(self._reader, made, language)
        bad = (
            [one for one in made.trace.failures if one.finding.code == "internal"]
            if made.trace
            else []
        )
        assert not bad, bad

    def _arguments(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments of a tool: right ones most often."""
        given: dict[str, Any] = {"run": self._selection.run} if "run" in properties else {}
        for name, described in properties.items():
            if name in given or name == "wait_s" or self._rng.random() < 0.6:
                continue
            given[name] = self._argument(described)
        return given

    def _argument(self, described: Mapping[str, Any]) -> Any:
        rng = self._rng
        if "enum" in described:
            return rng.choice(list(described["enum"]))
        if described["type"] == "integer":
            return rng.choice(NUMBERS)
        if described["type"] == "boolean":
            return rng.random() < 0.5
        if described["type"] == "number":
            return rng.choice([0.0, 0.5, -1.0, 1e300])
        names = [rng.choice(self._trace.strings)] if self._trace.strings else []
        return rng.choice([*names, "0", "rows", "select * from ops", *ODD])

    def _call(self, name: str, given: Mapping[str, Any]) -> None:
        deadline_s = time.monotonic() + 600
        answer = self._agents.answer(parse_call(name, given), deadline_s, sql_allowed=True)
        answer.text.encode()
        json.loads(answer.text, parse_constant=no_json)

    def _hostile(self) -> None:
        """One query and one call whose names and values are anything."""
        rng = self._rng
        name = rng.choice(list(_ASKED))
        known = [option for option, *_ in signature.query_of(_ASKED[name])]
        texts = {rng.choice([*known, *SELECTION, *ODD]): rng.choice(ODD) for _ in range(3)}
        self._asked("hostile queries", f"{name} {texts}", lambda: self._view(name, texts))
        tool = rng.choice(TOOLS)
        properties = list(schema(tool)["properties"])
        given = {rng.choice([*properties, *ODD]): rng.choice(_ODD_JSON) for _ in range(3)}
        self._asked("hostile calls", f"{tool.name} {given}", lambda: self._call(tool.name, given))


class _Found:
    """A search that has ended."""

    def __init__(self, found: Catalog) -> None:
        self._found = found

    def catalog(self) -> Catalog:
        """Return what it found."""
        return self._found

    def await_run(self, _run: str | None, _wait_s: float | None) -> Catalog:
        """Return what it found."""
        return self._found


def _window(rng: random.Random) -> Window:
    start, end = sorted(rng.choice([0, 1, 1000, 10**6, 10**9, 1 << 61]) for _ in range(2))
    return Window(start, end + 1)


def _options(rng: random.Random, trace: Trace, view: Callable[..., Any]) -> dict[str, str]:
    """Return some of a view's options as texts, at random; those that it requires always."""
    return {
        option["name"]: _text(value(rng, trace, option))
        for option in signature.options_of(view)
        if option["required"] or rng.random() < 0.3
    }


def _text(given: Any) -> str:
    return str(given).lower() if isinstance(given, bool) else str(given)


def value(rng: random.Random, trace: Trace, option: Mapping[str, Any]) -> Any:
    """Return a value of a view's option: a usual or an odd one of its kind."""
    if option["choices"]:
        return rng.choice(option["choices"])
    if option["kind"] == "whole number":
        small = option["name"] in ("limit", "points", "offset", "width", "most")
        return rng.choice(NUMBERS[:4] if small else NUMBERS)
    if option["kind"] == "true or false":
        return rng.random() < 0.5
    if option["kind"] == "number":
        return rng.choice([0.0, 0.5, -1.0, 1e300])
    name = rng.choice(trace.strings) if trace.strings else "a"
    if option["name"] == "changes":
        return "\n".join(rng.sample([f"{name}=0.5", "copies=0", "launches=0.5", "idle=0"], 2))
    return rng.choice([name, "0", "0,1", "x", "", "[" * 50])


def _is_text(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text


def no_json(constant: str) -> NoReturn:
    """Refuse what Python reads and browsers do not."""
    raise ValueError(f"{constant} is no JSON")
