"""The registry of tools: a line each, in the order in which an agent needs them.

A tool of a view has the view's options: its signature is their one definition. Names and
descriptions are for agents, which choose by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from tb_privateuse1.storage.event_record import read_record
from tb_privateuse1.views.request import SELECTION, view_named
from tb_privateuse1.views.signature import options_of, reads_of

LEAST_BYTES = 1_000
MOST_BYTES = 200_000
USUAL_BYTES = 8_000
PICTURE_BYTES = 60_000
LONGEST_WAIT_S = 300
USUAL_WAIT_S = 45
"""Below the minute after which many clients give up."""

Schema = dict[str, Any]
Kind = Literal["view", "runs", "sql", "sql_tables", "definition", "picture"]


class Tool(Struct, frozen=True):
    """A tool: of the view or lookup of its name, or of another ``kind``."""

    name: str
    about: str
    """What it answers, and when to use it; an agent reads nothing else before it calls."""
    main: tuple[str, ...] = ()
    """The fields with the most room."""
    later: tuple[str, ...] = ()
    """Fields that are only listed unless they are asked for."""
    kind: Kind = "view"
    own: Mapping[str, Schema] = field(default_factory=dict)
    """Arguments of a tool without a view."""
    required: tuple[str, ...] = ()


def _text(about: str, *choices: str, **more: Any) -> Schema:
    return {
        "type": "string",
        "description": about,
        **({"enum": choices} if choices else {}),
        **more,
    }


def _whole(about: str, **more: Any) -> Schema:
    return {"type": "integer", "description": about, **more}


_PLACE: dict[str, Schema] = {
    "run": _text("default: first"),
    "rank": _whole("default: lowest"),
    "span": _whole("default: latest"),
}
_STEP = _whole("the N of ProfilerStep#N; all by default")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "list_runs",
        "List the runs of the logdir with their ranks and recordings. Start here.",
        kind="runs",
        main=("runs",),
        own={"matching": _text("only runs with this text in their name, in any case")},
    ),
    Tool(
        "overview",
        "What limits this run: the verdict in one sentence, the account of all time by class "
        "(computation, communication, copies, synchronization, Python, …), device utilization, "
        "step times, top operators. Call it first for any run, then advice.",
        main=("verdict", "recording", "account", "totals", "steps"),
        later=("account_steps", "device_accounts"),
    ),
    Tool(
        "advice",
        "What makes the run slow and how to fix it: findings with evidence, code before and "
        "after, saving in ns alone and behind those above, its change for whatif, confidence.",
        main=("rows",),
        later=("asked",),
    ),
    Tool(
        "hotspots",
        "Where the time of the steps goes, by operator, kernel, module, function or annotation "
        "(argument by). The shortest answer to: which code is it?",
        main=("rows",),
    ),
    Tool(
        "operators",
        "The table of operators with host and device time, calls, shapes or call stacks (argument "
        "group); filter by find, order by sort.",
        main=("rows",),
    ),
    Tool(
        "kernels",
        "The table of device activities with count, total, mean, least and greatest duration, "
        "launching operator; filter by find, order by sort.",
        main=("rows",),
    ),
    Tool(
        "modules",
        "The tree of nn.Modules with forward and backward time of host and device.",
        main=("rows",),
    ),
    Tool(
        "whatif",
        "Predict the step time if something took less, such as changes=\"aten::mm=0.5\" or "
        "\"copies=0\" (one change a line), and rank what would gain most. A replay, with bounds.",
        main=("rows", "gain_ns"),
        later=("path",),
    ),
    Tool(
        "diff",
        "Compare two recordings per step: what became longer or shorter, beyond noise and bounds. "
        "run is the new one, base_run (or base_rank, base_span) the old one.",
        main=("explanation", "figures", "rows", "account"),
        later=("allocators",),
    ),
    Tool(
        "distributed",
        "All ranks of a run together: computation, communication, waiting, culprits, collectives "
        "and their findings.",
        main=("rows", "culprits", "advice", "collectives"),
        later=("grid",),
    ),
    Tool(
        "history",
        "All recordings of the logdir with the trend of one figure: did it get slower, and when?",
        main=("rows",),
    ),
    Tool(
        "roofline",
        "How far operators, shapes, modules or kernels are from what the device can do, and the "
        "time at stake.",
        main=("rows", "roofs", "distances"),
    ),
    Tool(
        "memory",
        "Memory of one device: its peak, what was alive at the peak by operator, module and "
        "line, growth, the largest allocations.",
        main=("window", "alive", "alive_modules", "alive_functions", "categories"),
        later=("curve", "category_curve", "rows", "steps"),
    ),
    Tool(
        "method",
        "How far the figures can be trusted: where device times come from (measured or inferred), "
        "error bounds, what the recording lacks. Call it before you claim a small gain.",
        main=("reason", "kind_evidence", "limits", "advice", "evidence"),
    ),
    Tool(
        "quality",
        "Defects of the recording itself: lost or repaired events, missing links, activities, with "
        "what to record instead.",
        main=("rows", "facts"),
    ),
    Tool(
        "search",
        "Find events by a part of their name; each has a table and an index for links and event.",
        main=("items", "names"),
    ),
    Tool(
        "kernel_instances",
        "The single device activities that share a row of kernels with one of them (argument "
        "index), the longest first, with start and duration.",
        main=("items", "typical"),
    ),
    Tool(
        "operator_calls",
        "The single calls that share a row of operators with one of them (argument index), the "
        "longest first, with their places in the code.",
        main=("items", "sites", "typical"),
    ),
    Tool(
        "links",
        "One event and what belongs to it: its launch, operator, module, call stack, function, "
        "forward operator, kernels, bound.",
        main=("item", "operator", "parents", "frames", "kernels", "launch"),
    ),
    Tool(
        "event",
        "One event exactly as the trace file has it, with all of its arguments.",
        main=("record",),
    ),
    Tool(
        "sql_tables",
        "The tables that sql can ask, with the meaning of each column.",
        kind="sql_tables",
        main=("tables",),
        own={"table": _text("only this table")},
    ),
    Tool(
        "sql",
        "Ask one recording's tables in SQL (DuckDB, one reading statement) when no other tool "
        "answers. Call sql_tables first.",
        kind="sql",
        main=("rows",),
        own={
            "query": _text("one statement: select, with … select, describe, explain"),
            "rows": _whole("at most this many rows", default=200),
            **_PLACE,
        },
        required=("query",),
    ),
    Tool(
        "definition",
        "What a figure, a finding's code or a word means: definition(term=\"busy_ns\").",
        kind="definition",
        main=("matches",),
        own={"term": _text("a field, a finding's code or a word")},
        required=("term",),
    ),
    Tool(
        "picture",
        "A PNG of the timeline (a window or a step of it) or of the roofline, with its figures as "
        "text beside it.",
        kind="picture",
        own={
            "of": _text("what to draw", "timeline", "roofline", default="timeline"),
            "step": _STEP,
            "start_ns": _whole("timeline: start of the window"),
            "stop_ns": _whole("timeline: end of the window"),
            "width_px": _whole("400 to 1600", default=1000),
            **_PLACE,
        },
    ),
)  # fmt: skip

_KINDS = {
    "whole number": "integer",
    "number": "number",
    "true or false": "boolean",
    "text": "string",
    "choice": "string",
}


def tool_named(name: str) -> Tool | None:
    """Return the tool of a name."""
    return next((tool for tool in TOOLS if tool.name == name), None)


def schema(tool: Tool) -> Schema:
    """Return the JSON schema of a tool's arguments."""
    if tool.kind != "view":
        properties, required = dict(tool.own), list(tool.required)
    else:
        view = read_record if tool.name == "event" else view_named(tool.name)
        options = options_of(view)
        properties = {option["name"]: _option(option) for option in options}
        required = [option["name"] for option in options if option["required"]]
        reads = reads_of(view)
        properties |= {} if "recordings" in reads else _PLACE
        if "base" in reads:
            properties |= {f"base_{name}": _base(name) for name in SELECTION}
    return {
        "type": "object",
        "properties": {**properties, **common(tool)},
        "required": required,
        "additionalProperties": False,
    }


def common(tool: Tool) -> dict[str, Schema]:
    """Return the arguments that say how to answer.

    They are in every tool, and agents read all of them: the server's instructions explain them.
    """
    size: Schema = {"type": "integer", "minimum": LEAST_BYTES, "maximum": MOST_BYTES}
    wait: Schema = {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT_S}
    size["default"] = PICTURE_BYTES if tool.kind == "picture" else USUAL_BYTES
    wait["default"] = USUAL_WAIT_S
    texts = {"type": "array", "items": {"type": "string"}}
    parts = {} if tool.kind == "picture" else {"fields": texts, "columns": texts}
    return {**parts, "max_bytes": size, "wait_s": wait}


def _option(option: Mapping[str, Any]) -> Schema:
    described: Schema = {"type": _KINDS[option["kind"]], "description": option["help"]}
    if option["choices"]:
        described["enum"] = list(option["choices"])
    if option["default"] is not None:
        described["default"] = option["default"]
    return described


def _base(name: str) -> Schema:
    return {**_PLACE[name], "description": "of the old one; default: as the new one"}
