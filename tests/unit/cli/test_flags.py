"""The options of views as flags: each of them, their help, and what is no flag."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.cli import flags
from tb_privateuse1.storage import event_record
from tb_privateuse1.views import VIEWS, signature
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.request import parse_options
from tests.support.trace_files import trace

ASKED = {**VIEWS, **LOOKUPS}


@pytest.fixture
def log(tmp_path: Path) -> str:
    trace(tmp_path / "r1" / "host_0.1.pt.trace.json")
    return str(tmp_path)


def commands(parser: argparse.ArgumentParser | None = None) -> Iterator[argparse.ArgumentParser]:
    """All commands, and all views as commands of ``view``."""
    parser = parser or cli._parser()
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from commands(command)


def values(hint: Any) -> list[str]:
    """Texts of an HTTP query that an option of a type takes."""
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    kinds = {*typing.get_args(hint), hint}
    if bool in kinds:
        return ["true", "false"]
    return ["7"] if int in kinds else ["1,2"]


@pytest.mark.parametrize("name", ASKED)
def test_every_option_is_a_flag(name: str) -> None:
    parser = cli._parser()
    for option, hint, _ in signature.query_of(ASKED[name]):
        for text in values(hint):
            flag = "--" + option.replace("_", "-")
            given = {"true": [flag], "false": [f"--no-{flag[2:]}"]}.get(text, [flag, text])
            options = parser.parse_args(["view", name, *given, "./log"])
            assert options.path == "./log"
            assert flags.given(options) == {option: text}
            assert flags.chosen(options, ASKED[name]) == parse_options(ASKED[name], {option: text})
    assert flags.given(parser.parse_args(["view", name, "./log"])) == {}


def test_the_event_has_its_flags() -> None:
    options = cli._parser().parse_args(["event", "./log", "--table", "ops", "--row", "7"])
    assert flags.chosen(options, event_record.read_record) == {"table": "ops", "row": 7}


@pytest.mark.parametrize("command", list(commands()), ids=lambda command: command.prog)
def test_help_starts_with_a_line_and_has_an_example_that_works(
    command: argparse.ArgumentParser,
) -> None:
    text = command.format_help()
    first, empty, usage = text.split("\n")[:3]
    assert first.endswith(".")
    assert first[0].isupper()
    assert not empty
    assert usage.startswith("usage: ")
    assert text.count(first) == 1
    example = text.splitlines()[-1].removeprefix("Example: ")
    assert example.startswith(command.prog)
    cli._parser().parse_args(shlex.split(example)[1:])


@pytest.mark.parametrize("name", ASKED)
def test_help_has_each_option_with_its_line_and_default(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as end:
        cli.main(["view", name, "--help"])
    assert end.value.code == 0
    own = capsys.readouterr().out.partition(f"options of {name}:")[2]
    for option in signature.options_of(ASKED[name]):
        default = option["default"]
        flag = "--" + option["name"].replace("_", "-")
        shown = {True: flag, False: f"--no-{flag[2:]}"}[default] if default in (True, False) and (
            option["kind"] == "true or false"
        ) else default  # fmt: skip
        assert flag in own
        assert option["help"] + (f" (default: {shown})" if shown not in (None, "") else "") in own


def test_the_old_way_works_and_says_what_is_new(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["view", "kernels", log, "--group", "name", "--short-ns", "5", "--json"]) == 0
    new = capsys.readouterr()
    old = ["--option", "group=name", "--option", "short_ns=5"]
    assert cli.main(["view", "kernels", log, *old, "--json"]) == 0
    out, err = capsys.readouterr()
    assert (out, new.err) == (new.out, "")
    assert err == (
        "tb-privateuse1: --option is deprecated and goes with the next release: "
        "use --group … --short-ns …\n"
    )


def test_what_stands_before_the_name_holds(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["view", "operators", log, "--step", "2", "--rank", "0", "--json"]) == 0
    behind = capsys.readouterr().out
    assert cli.main(["view", "--step", "2", "--rank", "0", "--json", "operators", log]) == 0
    assert capsys.readouterr().out == behind
    assert cli.main(["view", "--step", "9", "--csv", "operators", log, "--step", "2"]) == 0
    assert capsys.readouterr().out.startswith("name,")


def test_a_lookup_has_a_table_of_its_own(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["view", "links", log, "--table", "ops", "--index", "0", "--json"]) == 0
    assert '"table":"ops"' in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["kernels", "--grup", "name"], "view kernels has no option --grup. It has: --group, "),
        (["kernels", "--grup=name"], "view kernels has no option --grup. It has: --group, "),
        (["flame", "--ranking"], "It has: --by, --levels, --group, --direction, --frame"),
        (["kernels", "extra"], "unexpected argument 'extra'"),
        (["kernels", "--group", "x"], "--group: invalid choice: 'x' (choose from"),
        (["kernels", "--limit", "many"], "limit must be a whole number, not 'many'."),
        (["kernels", "--limit"], "--limit: expected one argument"),
        (["kernels", "--option", "limit=many"], "limit must be a whole number, not 'many'."),
        (["operators", "--sort", "x"], "cannot be sorted by 'x'. They can by: name, calls"),
        (["clock", "--csv"], "view clock has no option --csv. It has: --only, --to, "),
    ],
)
def test_bad_use_says_what_there_is(
    log: str, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    name, *rest = arguments
    assert cli.main(["view", name, log, *rest]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1


def test_a_lookup_without_steps_says_so(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["view", "--step", "1", "clock", log]) == 2
    assert "clock has no option 'step'. It has: only, to. (see tb-" in capsys.readouterr().err


@pytest.mark.parametrize("of", [[], ["view"], ["view", "kernels"], ["diff"], ["event"]])
def test_help_imports_no_view(of: list[str]) -> None:
    code = (
        "import sys; from tb_privateuse1 import cli\n"
        f"try: cli.main([*{of}, '--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'pyarrow', 'msgspec', 'argcomplete'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
