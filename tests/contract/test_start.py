"""What starting imports: each command and the library import what they use, and no more.

The ceilings are numbers of our modules, a little above what is imported today: one that is reached
shows an import that belongs into the function that needs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.advice.rank_rules import RANK_RULES
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.cli.commands import COMMANDS, MODULES
from tb_privateuse1.readers import READERS
from tb_privateuse1.trace.registry import OnCall, Registry
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.lookups import LOOKUPS
from tests.contract.test_contract import AROUND_VIEWS, files

READING = (
    "numpy", "pyarrow", "msgspec", "isal", "tb_privateuse1.analysis", "tb_privateuse1.storage",
)  # fmt: skip
SERVING = ("werkzeug", "tensorboard", "mcp", "duckdb", "torch", "pandas", "distributed", "PIL")
NEVER = (*SERVING, "http.client", "ssl")
MAKING = (
    "tb_privateuse1.inference", "tb_privateuse1.readers.chrome.file_reading",
    "tb_privateuse1.readers.perfetto.stream", "tb_privateuse1.storage.engines.local",
    "tb_privateuse1.export.formats", "tb_privateuse1.server", "tb_privateuse1.server.agents",
)  # fmt: skip
"""What reads and infers a trace, exports it or serves it."""
RULES_ROOM = ("tb_privateuse1.advice.engine", "tb_privateuse1.advice.rules.rule")

SHARED = ("event_items", "rank_rule", "rule")
"""Modules that the entries of a registry share."""

_LIST = "import sys, json\n{code}\nsys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
_COMMAND = (
    "from tb_privateuse1.cli import main\n"
    "try: main(sys.argv[1:])\n"
    "except SystemExit: pass"
)  # fmt: skip


def imported(code: str, *arguments: str) -> set[str]:
    """Return the modules that a program has imported at its end."""
    command = [sys.executable, "-c", _LIST.format(code=code), *arguments]
    env = {**os.environ, "TB_PRIVATEUSE1_RULES": "", "TB_PRIVATEUSE1_VENDOR": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return set(json.loads(done.stderr.splitlines()[-1]))


def check(modules: set[str], most: int, *without: str) -> None:
    """Require at most so many modules of ours, and none of these."""
    ours = {name for name in modules if name.partition(".")[0] == "tb_privateuse1"}
    assert len(ours) <= most, sorted(ours)
    assert sorted(modules & set(without)) == []


def test_the_package_imports_itself_only() -> None:
    check(imported("import tb_privateuse1"), 1, *READING, *NEVER)


def test_help_imports_no_command() -> None:
    check(imported(_COMMAND, "--help"), 5, *READING, *NEVER, "tb_privateuse1.cli.view")


def test_help_of_a_command_imports_that_one() -> None:
    check(imported(_COMMAND, "export", "--help"), 8, *READING, *NEVER, "tb_privateuse1.cli.view")


def test_discovery_imports_no_reader() -> None:
    """Nor numpy: TensorBoard's process looks for traces whether or not somebody opens them."""
    code = "from tb_privateuse1.discovery.scanner import Scanner; import tb_privateuse1.readers"
    check(imported(code), 55, "numpy", "pyarrow", *NEVER, *MAKING)


@pytest.mark.long
def test_the_plugin_imports_nothing_that_answers(logdir: Path) -> None:
    code = (
        "import time\nfrom types import SimpleNamespace\n"
        "from tb_privateuse1.server.loader import Loader\n"
        "flags = SimpleNamespace(logdir_spec='', reload_interval=0)\n"
        "plugin = Loader().load(SimpleNamespace(logdir=sys.argv[1], flags=flags))\n"
        "plugin.get_plugin_apps(), plugin.frontend_metadata()\n"
        "assert plugin.is_active()\nplugin._scanner.await_run()"
    )
    heavy = ("pyarrow", "tb_privateuse1.storage", "tb_privateuse1.views", *MAKING[:-2])
    check(imported(code, str(logdir)), 65, *heavy)


@pytest.mark.long
@pytest.mark.parametrize(
    ("view", "most", "without"),
    [
        ("overview", 274, (*MAKING, *RULES_ROOM)),
        ("kernels", 230, (*MAKING, *RULES_ROOM)),
        ("advice", 480, MAKING),
    ],
)
def test_a_view_of_a_stored_trace(
    view: str, most: int, without: tuple[str, ...], logdir: Path
) -> None:
    arguments = ("view", view, str(logdir), "--run", "mlp")
    subprocess.run(  # which stores the trace
        [sys.executable, "-m", "tb_privateuse1.cli", *arguments], capture_output=True, check=True
    )
    check(imported(_COMMAND, *arguments), most, *NEVER, *without)


REGISTRIES: dict[str, Registry[Any]] = {
    "views": VIEWS,
    "views/lookups": LOOKUPS,
    "advice/rules": RULES,
    "advice/rank_rules": RANK_RULES,
}
"""Whose entries are modules of a folder."""


@pytest.mark.parametrize("folder", REGISTRIES)
def test_every_entry_of_a_registry_is_what_its_name_says(folder: str) -> None:
    registry = REGISTRIES[folder]
    for name, entry in registry.items():
        declared = getattr(entry, "name", None) or getattr(entry, "__name__", None)
        assert declared == name
    assert set(registry) == files(folder, *AROUND_VIEWS, *SHARED)


def test_every_command_is_a_module() -> None:
    around = {
        "__main__", "commands", "completion", "ending", "flags", "progress", "selection",
        "trial_report", "trial_runs",
    }  # fmt: skip
    assert {MODULES.get(name, name) for name in COMMANDS} == files("cli") - around


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_what_a_reader_names_exists(reader: object) -> None:
    """A format names the functions that read it; they are imported when they are called."""
    for field in ("read", "read_parallel", "record", "add", "alter", "verbatim"):
        function = getattr(reader, field)
        if isinstance(function, OnCall):
            assert callable(function.function())
