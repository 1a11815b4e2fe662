"""Calls of the MCP server's tools in this process, and by a client of the SDK."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tb_privateuse1.server.agents import serve
from tb_privateuse1.server.agents.answers import Answer, Answers, parse_call
from tb_privateuse1.server.agents.tools import TOOLS, Tool
from tb_privateuse1.vendors.user_file import OURS

T = TypeVar("T")
PATIENT_S = 300.0


def run_apart(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in a thread of its own: the browser tests' loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


@contextmanager
def opened(logdir: Path) -> Iterator[Answers]:
    """Yield the answers for a logdir."""
    with serve.opened(str(logdir), OURS) as answers:
        yield answers


def call(answers: Answers, name: str, **arguments: Any) -> Answer:
    """Return the answer of a tool; waits until it is ready."""
    deadline_s = time.monotonic() + PATIENT_S
    return answers.answer(parse_call(name, arguments), deadline_s, sql_allowed=True)


def ask(answers: Answers, name: str, **arguments: Any) -> dict[str, Any]:
    """Return the JSON of a tool's answer."""
    found: dict[str, Any] = json.loads(call(answers, name, **arguments).text)
    return found


def arguments_of(tool: Tool, run: str) -> dict[str, Any]:
    """Return arguments with which a tool answers something on a run."""
    own: dict[str, dict[str, Any]] = {
        "list_runs": {},
        "definition": {"term": "busy_ns"},
        "sql_tables": {},
        "history": {},
        "diff": {"run": run, "base_run": run},
        "search": {"run": run, "text": "aten"},
        "event": {"run": run, "table": "ops", "row": 0},
        "sql": {"run": run, "query": "select * from ops"},
    }
    return own.get(tool.name, {"run": run})


def expanded(value: Any) -> Any:
    """Return an answer with its tables as lists of objects again."""
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() in ({"columns", "rows"}, {"columns", "rows", "all_null"}):
        nulls = dict.fromkeys(value.get("all_null", ()))
        return [
            {**nulls, **{n: expanded(c) for n, c in zip(value["columns"], row, strict=True)}}
            for row in value["rows"]
        ]
    return {name: expanded(item) for name, item in value.items()}


NAMES = [tool.name for tool in TOOLS]
