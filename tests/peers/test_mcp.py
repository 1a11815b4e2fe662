"""Ten questions of an agent on real recordings: the answers are the command line's, to the digit.

A client of the SDK asks a server process. The same questions go to ``tb-privateuse1 … --json``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.server.agents.answers import Answers
from tb_privateuse1.server.agents.tools import TOOLS, Tool
from tb_privateuse1.trace.errors import TraceError
from tests.support.agents import arguments_of, call, expanded, opened, run_apart
from tests.support.repeats import sampled
from tests.support.shared_traces import FOLDER, needs_traces

pytest.importorskip("mcp")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

MEASURED, INFERRED = "cuda/h100_bert", "privateuse1/mlp_host"
OLD, NEW = "cuda/v100_resnet50_workers0", "cuda/v100_resnet50_workers4"
SIZE = 8000


@dataclass(frozen=True)
class Question:
    """A question as a tool's call and as a command; ``run`` is a folder of the recordings."""

    asks: str
    tool: str
    run: str
    command: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


QUESTIONS = (
    Question("what limits it?", "overview", MEASURED, ("view", "overview")),
    Question("what should I fix?", "advice", MEASURED, ("advice",)),
    Question(
        "which function is it?",
        "hotspots",
        INFERRED,
        ("view", "hotspots"),
        {"by": "function"},
        ("--by", "function"),
    ),
    Question(
        "which kernels?",
        "kernels",
        MEASURED,
        ("view", "kernels"),
        {"group": "name"},
        ("--group", "name"),
    ),
    Question(
        "what if matmuls were twice as fast?",
        "whatif",
        MEASURED,
        ("whatif",),
        {"changes": "aten::addmm=0.5"},
        ("--scale", "aten::addmm=0.5"),
    ),
    Question("what do bounds rest on?", "method", INFERRED, ("view", "method")),
    Question("how far from the roof?", "roofline", MEASURED, ("view", "roofline")),
    Question("what is alive at the peak?", "memory", INFERRED, ("view", "memory")),
    Question(
        "what is this kernel?",
        "event",
        MEASURED,
        ("event",),
        {"table": "kernels", "row": 3},
        ("--table", "kernels", "--row", "3"),
    ),
    Question("which module?", "modules", INFERRED, ("view", "modules")),
)


@needs_traces
@pytest.mark.long
def test_ten_questions_have_the_command_line_s_answers(capfd: pytest.CaptureFixture[str]) -> None:
    answers = run_apart(_asked)
    assert len(answers) == len(QUESTIONS) == 10
    for question, (text, found) in zip(QUESTIONS, answers, strict=True):
        assert len(text.encode()) <= SIZE, question
        path = str(FOLDER / question.run)
        assert cli.main([*question.command, path, *question.flags, "--json"]) == 0
        whole = json.loads(capfd.readouterr().out)
        for part in found:
            _same(found[part], whole[part], f"{question.tool}: {part}")
        assert found, question


async def _asked() -> list[tuple[str, dict[str, Any]]]:
    """Return the text of each answer, and its fields but for those about the answer."""
    arguments = ["-m", "tb_privateuse1.cli", "mcp", str(FOLDER)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    answers = []
    async with Client(stdio_client(server)) as client:
        for question in QUESTIONS:
            asked = {"run": question.run, "max_bytes": SIZE, "wait_s": 300, **question.arguments}
            result = await client.call_tool(question.tool, asked, read_timeout_seconds=310)
            text = result.content[0].text  # type: ignore[union-attr]
            found = expanded(json.loads(text))
            assert found.pop("of")["run"] == question.run, text
            found.pop("more", None)
            answers.append((text, found))
    return answers


def _same(cut: Any, whole: Any, where: str) -> None:
    """Assert that all numbers, booleans and nulls of a cut value are the whole one's."""
    if isinstance(cut, str):
        is_rest = cut.startswith("… ")
        assert is_rest or cut == whole or (cut[-1:] == "…" and whole.startswith(cut[:-1])), where
    elif isinstance(cut, dict) and isinstance(whole, list):  # a table within a row
        kept = {name: value for name, value in cut.items() if name != "others"}
        _same(expanded(kept), whole[: len(whole) - cut["others"]], where)
    elif isinstance(cut, dict):
        for name, value in cut.items():
            _same(value, whole[name], f"{where}.{name}")
    elif isinstance(cut, list):
        for at, value in enumerate(cut):
            if not (isinstance(value, str) and value.startswith("… ")):
                _same(value, whole[at], f"{where}[{at}]")
    else:
        assert (type(cut), cut) == (type(whole), whole), where


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    with opened(FOLDER) as found:
        yield found


RUNS = (
    "cpu/call_stacks", "cuda/nccl_ddp", "cuda/two_ranks_of_128", "mtia/inference", "npu/trace_view",
    "privateuse1/openreg_mlp_default", "privateuse1_more/f_streams2_device", "rocm/mi300_bert",
)  # fmt: skip
"""Every kind of recording."""


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize("run", sampled(RUNS, 4))
def test_answers_fit_on_every_kind_of_recording(answers: Answers, run: str) -> None:
    asked = [tool for tool in TOOLS if tool.kind != "sql" and "run" in arguments_of(tool, run)]
    assert len(asked) > 15
    for tool in asked:
        for size in (1000, 4000, 64_000):
            text = _text(answers, tool, run, size)
            assert text is None or len(text.encode()) <= size, tool.name


def _text(answers: Answers, tool: Tool, run: str, size: int) -> str | None:
    """Return an answer, or None where the recording has nothing to answer with."""
    try:
        return call(answers, tool.name, **arguments_of(tool, run), max_bytes=size).text
    except TraceError as error:
        if error.code not in ("unknown_row", "picture_too_large", "nothing_to_draw"):
            raise
        return None


@needs_traces
@pytest.mark.long
def test_a_difference_is_the_command_line_s(
    answers: Answers, capfd: pytest.CaptureFixture[str]
) -> None:
    found = expanded(json.loads(call(answers, "diff", run=NEW, base_run=OLD, max_bytes=SIZE).text))
    assert cli.main(["diff", str(FOLDER / OLD), str(FOLDER / NEW), "--json"]) == 0
    whole = json.loads(capfd.readouterr().out)
    assert len(found["explanation"]["reasons"]) > 0
    for part in set(found) - {"of", "more"}:
        _same(found[part], whole[part], part)
