"""Users' work models from files and packages, and the errors of unusable ones."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.analysis.work import registry
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.call_work import Work
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views import user_models
from tests.unit.analysis.work.calls import flops, tensor, work

DOCUMENT = Path(__file__).parents[3] / "docs" / "guide" / "work.md"
EXAMPLE = re.search(r"```python\n(# fused.*?)```", DOCUMENT.read_text(), re.DOTALL)
NAME = "acme::gated_linear"
HALF = "c10::BFloat16"
INPUTS = tensor(4, 6, dtype=HALF), tensor(10, 6, dtype=HALF), 0.5


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    assert EXAMPLE is not None
    path = tmp_path / "fused.py"
    path.write_text(EXAMPLE[1])
    monkeypatch.setenv(user_models.VARIABLE, str(path))
    yield path
    registry.use_models({})


def change(path: Path, content: str) -> None:
    path.write_text(content)
    os.utime(path, ns=(len(content), hash(content) & 0xFFFFFF))


@pytest.mark.usefixtures("own")
def test_the_documents_example_works() -> None:
    assert work(NAME, *INPUTS) is None
    user_models.use_from_environment()
    assert work(NAME, *INPUTS) == Work(480, 168, 40, True, "bfloat16")
    assert work(NAME, 1) is None
    assert flops("aten::mm", tensor(2, 3), tensor(3, 4)) == 48


def test_ours_can_be_replaced_by_full_name(own: Path) -> None:
    assert EXAMPLE is not None
    change(own, EXAMPLE[1].replace(NAME, "aten::mm"))
    user_models.use_from_environment()
    assert flops("aten::mm", *INPUTS) == 480
    assert flops("npu::mm", tensor(2, 3), tensor(3, 4)) == 48


def test_without_a_file_there_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(user_models.VARIABLE, raising=False)
    user_models.use_from_environment()
    assert work(NAME, *INPUTS) is None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("MODELS = 1", "has no MODELS"),
        ("MODELS = {'a': 3}", "has no MODELS"),
        ("MODELS = {3: len}", "has no MODELS"),
        ("MODELS = {}", "has no MODELS"),
        ("", "has no MODELS"),
        ("x = ", "cannot be run: SyntaxError"),
        ("raise SystemError('no')", "cannot be run: SystemError"),
    ],
)
def test_unusable_files_are_errors(own: Path, content: str, says: str) -> None:
    change(own, content)
    registry.use_models({NAME: lambda _: Work(1, 0, 0)})
    with pytest.raises(TraceError, match=re.escape(says)) as error:
        user_models.use_from_environment()
    assert error.value.code == "bad_work_models"
    assert str(own.parent) not in error.value.message
    assert work(NAME, *INPUTS) is None, "the last models are gone"


def test_a_missing_file_is_an_error(own: Path) -> None:
    own.unlink()
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        user_models.use_from_environment()


@pytest.mark.parametrize(
    "body",
    [
        "1 / 0",
        "None",
        "(1, 2, 3)",
        "Work(1, 0, 0, dtype='bf16')",
        "call.tensor(9)",
        "Work(-1, 0, 0)",
        "Work(1 << 70, 0, 0)",
    ],
)
def test_a_failing_model_is_unknown_work(own: Path, body: str) -> None:
    imported = "from tb_privateuse1.analysis.work.call_work import Work"
    change(own, f"{imported}\nMODELS = {{'{NAME}': lambda call: {body}}}")
    user_models.use_from_environment()
    assert work(NAME, *INPUTS) is None


def test_the_log_names_an_exception_once(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: object) -> Work:
        raise RuntimeError("on purpose")

    def lacks(_: object) -> Work:
        raise UnknownWork

    registry.use_models({NAME: fails, "acme::other": lacks})
    for _ in range(2):
        assert work(NAME, *INPUTS) is None
        assert work("acme::other", *INPUTS) is None
    registry.use_models({})
    assert [one.message for one in caplog.records] == [
        f"The work model of {NAME}: RuntimeError: on purpose"
    ]


def test_models_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    value = "tb_privateuse1.analysis.work.models.softmax:MODELS"
    point = importlib.metadata.EntryPoint("one", value, user_models.GROUP)
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: {user_models.GROUP: (point,)}[group]
    )
    assert "_softmax" in user_models.load_models(())
    point = importlib.metadata.EntryPoint("two", "nowhere:MODELS", user_models.GROUP)
    with pytest.raises(TraceError, match=r"nowhere:MODELS: cannot be loaded: ModuleNotFound"):
        user_models.load_models(())
