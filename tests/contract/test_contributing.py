"""What CONTRIBUTING says is enough, and each of its steps is needed.

A rule, a view, a vendor, a format and a column are added to a copy of the repository as it says.
All tests that they touch pass; without any one step one of them fails, and names the step.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from tests.support.scratch_copy import copy_repository, run, run_tests
from tests.unit.readers import test_new_format as new_format
from tools import scaffold

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("contributing")]

CONTRACT = "tests/contract/test_contract.py"
RULES = "tests/unit/advice/rules/test_registry.py"
READERS = "tests/unit/readers/test_readers.py"
TABLES = "tests/unit/export/test_trace_tables.py"
TOUCHED = (
    CONTRACT, RULES, READERS, TABLES, "tests/contract/test_evidence.py",
    "tests/contract/test_thresholds.py", "tests/contract/test_names.py", "tests/unit/vendors",
    "tests/unit/views/test_step_times.py", "tests/unit/advice/rules/test_slow_logging.py",
    "tests/unit/readers/test_kernel_list.py",
)  # fmt: skip
RULE, VIEW = "slow_logging", "step_times"
SCAFFOLDED = (
    f"tb_privateuse1/advice/rules/{RULE}.py", f"tests/unit/advice/rules/test_{RULE}.py",
    f"tb_privateuse1/views/{VIEW}.py", f"tests/unit/views/test_{VIEW}.py",
    "benchmarks/planted/evidence.py",
)  # fmt: skip
ADDED = f"{RULE} or {VIEW} or nova or kernel_list or every or complete or documented or test_rows"
"""Tests of what was added, and of whole registries."""


NOVA = '''"""Nova's accelerators."""

from tb_privateuse1.trace.vendor import Vendor

VENDOR = Vendor(name="nova", title="Nova", backends=("nova",))
'''
READER = '''"""Kernels in a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from tb_privateuse1.discovery.formats import DistributedInfo, Signs
from tb_privateuse1.readers.decompress import read_bytes
from tb_privateuse1.readers.raw import Flows, Group, Progress, Raw
from tb_privateuse1.readers.reader import Reader
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.model import Threads

HEADER = b"kernel,start_us,duration_us,stream"
'''
ENTRY = """
KERNEL_LIST = Reader(
    name="kernel_list", suffixes=(".csv",), sniff=sniff, read=read, record=record
)
"""
READER_TEST = """from tb_privateuse1.readers.kernel_list import KERNEL_LIST, sniff


def test_its_head_is_recognized() -> None:
    assert KERNEL_LIST.name == "kernel_list"
    assert sniff(b"kernel,start_us,duration_us,stream").is_trace
"""


class Step(Struct, frozen=True):
    """A file that a step of CONTRIBUTING changes, and what fails without it."""

    path: str
    test: str
    says: str
    """What the failure says."""


REGISTRIES = (
    Step("tb_privateuse1/advice/rules/__init__.py", f"{RULES}::test_every_rule_is_registered_once",
         "a line in tb_privateuse1/advice/rules/__init__.py"),
    Step("tb_privateuse1/views/__init__.py", f"{CONTRACT}::test_every_view_is_registered",
         "a line in tb_privateuse1/views/__init__.py"),
    Step("tb_privateuse1/vendors/__init__.py", f"{CONTRACT}::test_every_vendor_is_registered",
         "a line in tb_privateuse1/vendors/__init__.py"),
    Step("tb_privateuse1/readers/__init__.py", f"{READERS}::test_every_reader_is_registered",
         "a line in READERS"),
    Step("tb_privateuse1/export/trace_tables.py", f"{TABLES}::test_every_column_is_described",
         "its meaning in tb_privateuse1/export/trace_tables.py"),
)  # fmt: skip
OF_VIEW, OF_READER = f"{CONTRACT}::test_a_view_is_complete", f"{READERS}::test_a_reader_has_tests"
FILES = (
    Step(f"tests/unit/advice/rules/test_{RULE}.py",
         f"{CONTRACT}::test_every_format_and_rule_has_a_test", "a test in tests/unit/advice/rules"),
    Step("benchmarks/planted/evidence.py", "tests/contract/test_evidence.py::test_a_rule_has",
         "a recording in benchmarks/planted/evidence.py"),
    Step(f"frontend/src/pages/{VIEW}/index.tsx", OF_VIEW, "a page in frontend/src/pages"),
    Step("docs/reference/definitions.md", f"{CONTRACT}::test_every_figure_is_defined",
         "a line in docs/reference/definitions.md"),
    Step("tests/unit/vendors/test_vendors.py",
         "tests/unit/vendors/test_vendors.py::test_every_vendor_has_an_example",
         "an example in tests/unit/vendors/test_vendors.py"),
    Step("docs/reference/vendors.md", f"{CONTRACT}::test_every_vendor_has_its_row",
         "a row in docs/reference/vendors.md"),
    Step("docs/reference/formats.md", OF_READER, "a section in docs/reference/formats.md"),
    Step("tb_privateuse1/inference/measured_timeline.py", f"{TABLES}::test_rows", "priority"),
)  # fmt: skip
ROUNDS = [
    REGISTRIES,
    FILES,
    (
        Step("frontend/src/pages/index.ts", OF_VIEW, "a line in frontend/src/pages/index.ts"),
        Step("tests/unit/readers/test_kernel_list.py", OF_READER, "a test in tests/unit/readers"),
    ),
    (
        Step("frontend/src/i18n/en/index.ts", OF_VIEW, "and their line in index.ts"),
        Step("tests/unit/readers/samples/kernel_list.csv", OF_READER,
             "a sample in tests/unit/readers/samples"),
    ),
    (Step(f"frontend/src/i18n/en/pages/{VIEW}.ts", OF_VIEW, "texts in frontend/src/i18n/en"),),
    (Step("docs/guide/pages.md", OF_VIEW, "a section in docs/guide/pages.md"),),
    (Step(f"tests/unit/views/test_{VIEW}.py", OF_VIEW, "a test in tests/unit/views"),),
]  # fmt: skip
"""Steps that are left out together: each has a test of its own, that stops at the first fault."""
STEPS = [step for steps in ROUNDS for step in steps]


def add_rule_and_view(tree: Path) -> None:
    assert run(tree, "-m", "tools.scaffold", "rule", RULE, "launching") == ""
    assert run(tree, "-m", "tools.scaffold", "view", VIEW) == ""


def add_vendor(tree: Path) -> None:
    package = tree / "tb_privateuse1" / "vendors"
    (package / "nova.py").write_text(NOVA)
    registry = package / "__init__.py"
    add_before(registry, "cuda, hpu,", "nova, ")
    add_before(registry, "    mtia.VENDOR,\n", "    nova.VENDOR,\n")
    tests = tree / "tests" / "unit" / "vendors" / "test_vendors.py"
    add_before(tests, '    "cuda": {"backend": None', '    "nova": {"backend": "nova"},\n')
    rows = tree / "docs" / "reference" / "vendors.md"
    add_before(rows, "| `generic` |", "| `nova` | backend `nova` |\n")


def add_format(tree: Path) -> None:
    """Add the format of ``test_new_format``, which there is registered by hand."""
    package, tests = tree / "tb_privateuse1" / "readers", tree / "tests" / "unit" / "readers"
    parts = (new_format.rows_of, new_format.sniff, new_format.read, new_format.record)
    source = "\n\n".join([READER, *(inspect.getsource(part) for part in parts), ENTRY])
    (package / "kernel_list.py").write_text(source)
    add_before(package / "__init__.py", "    memory_timeline,\n    nsight,", "    kernel_list,\n")
    add_before(package / "__init__.py", "    ascend.ASCEND,\n", "    kernel_list.KERNEL_LIST,\n")
    (tests / "test_kernel_list.py").write_text(READER_TEST)
    (tests / "samples" / "kernel_list.csv").write_bytes(new_format.TEXT)
    document = tree / "docs" / "reference" / "formats.md"
    add_before(document, "## Chrome trace JSON", "## List of kernels (`kernel_list`)\n\nCSV.\n\n")


def add_before(path: Path, anchor: str, text: str) -> None:
    path.write_text(scaffold.insert_before(path.read_text(), anchor, text))


def add_column(tree: Path) -> None:
    package = tree / "tb_privateuse1"
    model, stage = package / "trace" / "model.py", package / "inference" / "measured_timeline.py"
    last = "    event: SmallNumber\n\n\nclass Memory("
    add_before(model, last, "    priority: SmallNumber\n")
    lane = "        lane=same[rows].argmax("
    add_before(stage, lane, "        priority=np.zeros(len(rows), np.int32),\n")
    meaning = '        "lane": "row of lanes: whose activities it spans",\n'
    tables = package / "export" / "trace_tables.py"
    add_before(tables, meaning, '        "priority": "priority of the stream",\n')


class Copy(Struct, frozen=True):
    """A copy with all five additions."""

    tree: Path
    before: dict[str, str | None]
    """The files of the steps as they were; None for those that are new."""

    @contextmanager
    def without(self, steps: Sequence[Step]) -> Iterator[None]:
        """Leave out some steps for a while."""
        after = {step.path: read(self.tree / step.path) for step in steps}
        for path in after:
            write(self.tree / path, self.before[path])
        yield
        for path, text in after.items():
            write(self.tree / path, text)


def read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
    else:
        path.write_text(text)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    tree = copy_repository(tmp_path_factory.mktemp("tree"))
    before = {step.path: read(tree / step.path) for step in STEPS}
    add_rule_and_view(tree)
    add_vendor(tree)
    add_format(tree)
    add_column(tree)
    assert all(read(tree / step.path) != before[step.path] for step in STEPS)
    return Copy(tree, before)


def test_what_it_says_is_enough(copy: Copy) -> None:
    """The tests of what was added, after ``make api``."""
    for program in ("tb_privateuse1.server.typescript", "docs.generate"):
        assert "make api" in run(copy.tree, "-m", program, "--check"), "what is old is found"
        assert run(copy.tree, "-m", program) == ""
    for command in (("check",), ("format", "--check")):
        assert run(copy.tree, "-m", "ruff", *command, *SCAFFOLDED) == ""
    assert run_tests(copy.tree, *TOUCHED, "-k", ADDED, "-m", "not long and not peers") == ""


@pytest.mark.parametrize("steps", ROUNDS, ids=lambda steps: steps[0].path)
def test_no_step_can_be_left_out(copy: Copy, steps: tuple[Step, ...]) -> None:
    tests = [step.test for step in steps]
    with copy.without(steps):
        said = run_tests(copy.tree, *{test.partition("::")[0] for test in tests}, "-k",
                         " or ".join(test.partition("::")[2] for test in tests))  # fmt: skip
    assert [step.says for step in steps if step.says not in said] == [], said
