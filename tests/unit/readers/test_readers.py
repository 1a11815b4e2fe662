"""Every reader is tested and documented, and recognizes its own sample alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb_privateuse1 import readers
from tb_privateuse1.readers import READERS, Reader
from tests.support.sources import PACKAGE

HERE = Path(__file__).parent
FORMATS = (HERE.parents[2] / "docs" / "reference" / "formats.md").read_text()


def sample(reader: Reader) -> Path:
    return HERE / "samples" / f"{reader.name}{reader.suffixes[0]}"


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_has_tests_a_section_and_a_sample(reader: Reader) -> None:
    files = [*HERE.glob(f"test_{reader.name}.py"), *HERE.glob(f"{reader.name}/test_*.py")]
    assert files, "a test in tests/unit/readers"
    assert f"(`{reader.name}`)\n" in FORMATS, "a section in docs/reference/formats.md"
    assert sample(reader).is_file(), "a sample in tests/unit/readers/samples"


def test_every_reader_is_registered() -> None:
    sources = [path.read_text() for path in sorted((PACKAGE / "readers").rglob("*.py"))]
    names = [name for text in sources for name in re.findall(r"Reader\(\s*name=\"(\w+)\"", text)]
    assert sorted(names) == sorted(reader.name for reader in READERS), "a line in READERS"


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_sample_is_recognized_by_its_reader_alone(reader: Reader) -> None:
    head = sample(reader).read_bytes()
    assert [other.name for other in READERS if other.sniff(head).is_trace] == [reader.name]
    assert readers.choose_reader(str(sample(reader))) is reader
    assert readers.read(str(sample(reader))).reader == reader.name


def test_names_are_unique_and_suffixes_plain() -> None:
    assert len({reader.name for reader in READERS}) == len(READERS)
    assert all(reader.name == reader.name.lower() for reader in READERS)
    suffixes = [suffix for reader in READERS for suffix in reader.suffixes]
    assert all(s.startswith(".") and s == s.lower() and s != ".gz" for s in suffixes)
