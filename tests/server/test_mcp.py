"""The MCP server as a process, asked by the SDK's client: on the standard streams and over HTTP."""

from __future__ import annotations

import asyncio
import collections
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support.agents import NAMES, run_apart

COMMAND = [sys.executable, "-m", "tb_privateuse1.cli", "mcp"]
QUESTIONS = 100

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def on_stdio(logdir: Path, ask: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Run questions of a client whose server is a child process."""
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], str(logdir)], env=dict(os.environ)
    )

    async def run() -> None:
        async with Client(stdio_client(parameters)) as client:
            await ask(client)

    run_apart(run)


@pytest.fixture(scope="module")
def url(logdir: Path) -> Iterator[str]:
    """The address of a server over HTTP."""
    command = [*COMMAND, str(logdir), "--http", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
        assert found, line
        yield found[0]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        ended = process.stderr.read()
        assert ended.endswith("tb-privateuse1: interrupted\n")
        assert "Traceback" not in ended


def body(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.content[0].text)
    return found


def code(result: Any) -> str:
    """Return the code of an error, or ``answer``."""
    found = body(result)
    assert result.is_error == ("error" in found)
    return str(found["error"]["code"]) if result.is_error else "answer"


async def look_around(client: Client) -> None:
    """Ask for what there is, and for one answer of each kind."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == NAMES
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    overview = body(await client.call_tool("overview", {"run": "ddp"}))
    assert overview["of"] == {"run": "ddp", "rank": 0, "span": 1}
    assert overview["duration_ns"] == 3_000_000
    picture = await client.call_tool("picture", {"run": "ddp"})
    assert [content.type for content in picture.content] == ["text", "image"]
    resources = (await client.list_resources()).resources
    assert {"skill", "sql", "definitions/bounds"} <= {one.name for one in resources}
    for resource in resources:
        (text,) = (await client.read_resource(resource.uri)).contents
        assert len(text.text) > 100  # type: ignore[union-attr]
    prompts = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == ["why_is_it_slow", "what_changed"]
    filled = await client.get_prompt("what_changed", {"run": "new", "base_run": "old"})
    assert "from old to new" in filled.messages[0].content.text  # type: ignore[union-attr]


async def attack(client: Client) -> None:
    """Ask for what must not be answered, then much at once; then the server still answers."""
    hostile: list[tuple[str, dict[str, Any], str]] = [
        ("sql", {"query": "create table x as select 1"}, "sql_error"),
        ("sql", {"query": "select * from read_csv('/etc/passwd')"}, "sql_error"),
        ("overview", {"run": "../../../etc"}, "unknown_run"),
        ("overview", {"max_bytes": 10**15}, "bad_option"),
        ("operators", {"limit": 2**62}, "bad_option"),
        ("rm", {"path": "/"}, "unknown_tool"),
    ]
    for name, arguments, expected in hostile:
        assert code(await client.call_tool(name, arguments)) == expected, name
    for uri in ("file:///etc/passwd", "tb-privateuse1://../../etc/passwd"):
        with pytest.raises(Exception, match="no resource"):
            await client.read_resource(uri)
    with pytest.raises(Exception, match="no prompt"):
        await client.get_prompt("nothing")
    calls = [client.call_tool("modules", {"run": "ddp", "step": n % 9}) for n in range(QUESTIONS)]
    codes = collections.Counter(map(code, await asyncio.gather(*calls)))
    assert set(codes) <= {"answer", "unknown_step", "busy"}
    assert codes["answer"] > 0
    assert code(await client.call_tool("overview", {"run": "ddp"})) == "answer"


def test_a_client_on_the_standard_streams(logdir: Path) -> None:
    on_stdio(logdir, look_around)


def test_a_hostile_client_on_the_standard_streams(logdir: Path) -> None:
    pytest.importorskip("duckdb")
    on_stdio(logdir, attack)


def test_a_client_over_http(url: str) -> None:
    async def run() -> None:
        async with Client(url) as client:
            await look_around(client)
            query = {"run": "ddp", "query": "select count(*) as n from kernels"}
            assert code(await client.call_tool("sql", query)) == "answer"

    pytest.importorskip("duckdb")
    run_apart(run)


def test_a_hostile_client_over_http(url: str) -> None:
    async def run() -> None:
        async with Client(url) as client:
            await attack(client)

    pytest.importorskip("duckdb")
    run_apart(run)


@pytest.mark.parametrize(
    ("headers", "size", "status"),
    [
        ({"Host": "evil.example"}, 0, 421),
        ({"Origin": "http://evil.example"}, 0, 403),
        ({"Origin": "http://localhost:1"}, 0, 403),
        ({"Content-Type": "text/plain"}, 0, 400),
        ({}, 1 << 20, 413),
    ],
)
def test_foreign_requests_are_refused(
    url: str, headers: dict[str, str], size: int, status: int
) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "y" * size}}
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection = http.client.HTTPConnection(url.split("/")[2], timeout=30)
    connection.request("POST", "/mcp", json.dumps(call), given | headers)
    assert connection.getresponse().status == status
    connection.close()


def test_sql_over_a_proxy_is_refused(url: str) -> None:
    """A proxy on this machine may stand before clients of other ones."""
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "sql", "arguments": {"query": "from ops"}},
    }
    given = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
        "X-Forwarded-For": "10.0.0.1",
    }
    connection = http.client.HTTPConnection(url.split("/")[2], timeout=30)
    connection.request("POST", "/mcp", json.dumps(call), given)
    assert "sql_off" in connection.getresponse().read().decode()
    connection.close()


def test_the_standard_output_has_the_protocol_only(logdir: Path) -> None:
    first = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    with started(logdir) as process:
        assert process.stdin
        assert process.stdout
        half = {"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"text": "\ud83d"}}
        process.stdin.write("no json\n" + json.dumps(half) + "\n" + json.dumps(first) + "\n")
        process.stdin.flush()
        for _ in range(2):  # a client must not wait for what cannot be read
            refusal = json.loads(process.stdout.readline())
            assert (refusal["id"], refusal["error"]["code"]) == (None, -32700)
        answer = json.loads(process.stdout.readline())
        assert answer["id"] == 1
        assert answer["result"]["serverInfo"]["name"] == "tb-privateuse1"
        rest, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert [line for line in rest.splitlines() if "jsonrpc" not in json.loads(line)] == []


def started(logdir: Path) -> subprocess.Popen[str]:
    """Start a server on pipes."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*COMMAND, str(logdir)], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def test_ctrl_c_ends_it_while_the_client_is_there(logdir: Path) -> None:
    with started(logdir) as process:
        assert process.stdin
        assert process.stdout
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        process.stdin.write(json.dumps(ping) + "\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr
        assert "Traceback" not in process.stderr.read()
