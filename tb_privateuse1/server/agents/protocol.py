"""The MCP server: tools, resources and prompts, by the official SDK.

Calls run in threads, a few at a time; only some may wait. While a trace is read the
client gets progress notifications; after ``wait_s`` the answer is the progress.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from tb_privateuse1.i18n import say
from tb_privateuse1.server.agents import prompts, reference
from tb_privateuse1.server.agents.answers import Answer, Answers, Call, parse_call
from tb_privateuse1.server.agents.tools import TOOLS, schema
from tb_privateuse1.server.messages import ApiError, Problem
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.version import VERSION
from tb_privateuse1.views.encoding import encode

_AT_A_TIME = 8
_MOST_WAITING = 32
_SLICE_S = 0.5
"""How long a call waits in its thread before the client hears of the progress."""
_SCHEME = "tb-privateuse1://"
_INSTRUCTIONS = (
    "Profiles of PyTorch runs on any accelerator. Start with list_runs, then overview, "
    "advice and method of a run. Times are int64 ns (names end in _ns), sizes bytes, shares "
    "0 to 1; null is unknown, never 0; a _bound is how far off a figure may be. A list of "
    "objects is {columns, rows}, and all_null names columns without values. run, rank and "
    "span select a recording. An answer fits into max_bytes; more.fields has the paths of "
    "what was left out: pass them in fields, such as rows[20:] or account.classes. columns "
    "keeps these columns of tables. A trace that is new is read first: after wait_s seconds "
    "the answer is pending, then call again. Look up words with definition. Read the "
    "resource tb-privateuse1://skill once."
)
_log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]


class Protocol:
    """Answers the requests of MCP. ``allows_sql`` returns whether a client may ask SQL."""

    def __init__(self, answers: Answers, allows_sql: Callable[[Any], bool]) -> None:
        self._answers = answers
        self._allows_sql = allows_sql
        self._limiter: anyio.CapacityLimiter | None = None
        self._present = 0

    def server(self) -> Server[Any]:
        """Return the SDK's server of these answers."""
        return Server(
            "tb-privateuse1",
            version=VERSION,
            title="PyTorch profiles",
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )

    async def _list_tools(self, *_: Any) -> types.ListToolsResult:
        only_reads = types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, open_world_hint=False
        )
        listed = [
            types.Tool(
                name=tool.name,
                description=tool.about,
                input_schema=schema(tool),
                annotations=only_reads,
            )
            for tool in TOOLS
        ]
        return types.ListToolsResult(tools=listed)

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if self._present >= _AT_A_TIME + _MOST_WAITING:
            message = say("{count} other calls are running.", count=self._present)
            return _problem(Problem("busy", message, say("Try again in a moment.")))
        self._present += 1
        try:
            call = parse_call(params.name, params.arguments)
            return _result(await self._wait_for(call, context))
        except Pending as pending:
            return _pending(pending.progress)
        except TraceError as error:
            return _problem(Problem(error.code, error.message, error.hint))
        except Exception:
            _log.exception("%s failed", params.name)
            hint = say("The server's log has the details. Please report them.")
            return _problem(Problem("internal", say("The server made a mistake here."), hint))
        finally:
            self._present -= 1

    async def _wait_for(self, call: Call, context: Context) -> Answer:
        """Return the answer to a call. Raises TraceError, or Pending after ``wait_s``."""
        if self._limiter is None:  # it belongs to the running event loop
            self._limiter = anyio.CapacityLimiter(_AT_A_TIME)
        end_s = time.monotonic() + call.wait_s
        allowed = self._allows_sql(context.request)
        while True:
            deadline_s = min(time.monotonic() + _SLICE_S, end_s)
            work = partial(self._answers.answer, call, deadline_s, sql_allowed=allowed)
            try:
                return await anyio.to_thread.run_sync(work, limiter=self._limiter)
            except Pending as pending:
                if time.monotonic() >= end_s:
                    raise
                await _report(context, pending.progress)
                await anyio.sleep(0)

    async def _list_resources(self, *_: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(name=name, uri=uri, description=about, mime_type="text/markdown")
                for uri, (name, about, _) in _resources().items()
            ]
        )

    async def _read_resource(
        self, _: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        found = _resources().get(str(params.uri))
        if found is None:
            message = f"There is no resource {str(params.uri)[:200]!r}: see resources/list."
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        contents = types.TextResourceContents(
            uri=params.uri, text=found[2](), mime_type="text/markdown"
        )
        return types.ReadResourceResult(contents=[contents])

    async def _list_prompts(self, *_: Any) -> types.ListPromptsResult:
        listed = [
            types.Prompt(
                name=prompt.name,
                description=prompt.about,
                arguments=[
                    types.PromptArgument(name=name, description=about, required=False)
                    for name, about in prompt.arguments.items()
                ],
            )
            for prompt in prompts.PROMPTS
        ]
        return types.ListPromptsResult(prompts=listed)

    async def _get_prompt(
        self, _: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        prompt = prompts.prompt_named(params.name)
        if prompt is None:
            message = f"There is no prompt {params.name[:100]!r}: see prompts/list."
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        text = types.TextContent(type="text", text=prompt.filled(params.arguments or {}))
        asked = types.PromptMessage(role="user", content=text)
        return types.GetPromptResult(description=prompt.about, messages=[asked])


def _resources() -> dict[str, tuple[str, str, Callable[[], str]]]:
    """Return name, description and text of each resource by its URI."""
    found: dict[str, tuple[str, str, Callable[[], str]]] = {
        f"{_SCHEME}skill": (
            "skill",
            "How to get from a slow run to a verified fix, and how not to be misled.",
            reference.skill,
        ),
        f"{_SCHEME}sql": ("sql", "The tables of SQL and their columns.", reference.sql_text),
    }
    for section in reference.sections():
        about = f"Definitions: {section.title}."
        found[f"{_SCHEME}definitions/{section.slug}"] = (
            f"definitions/{section.slug}",
            about,
            partial(reference.section_text, section),
        )
    return found


async def _report(context: Context, progress: Progress) -> None:
    total = progress.bytes_total or None
    done = min(progress.bytes_done, total) if total else 0
    await context.session.report_progress(done, total, progress.phase)


def _result(answer: Answer) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=answer.text)]
    if answer.png is not None:
        data = base64.b64encode(answer.png).decode()
        content.append(types.ImageContent(type="image", data=data, mime_type="image/png"))
    return types.CallToolResult(content=content)


def _pending(progress: Progress) -> types.CallToolResult:
    how = "The trace is being read. Call again with the same arguments."
    body = encode({"pending": progress, "how": how}).decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=body)])


def _problem(problem: Problem) -> types.CallToolResult:
    text = encode(ApiError(problem)).decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
