"""Every reader is tested and documented, and recognizes its own sample alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1 import readers
from tb_privateuse1.readers import READERS, Reader

HERE = Path(__file__).parent
FORMATS = (HERE.parents[2] / "docs" / "reference" / "formats.md").read_text()


def sample(reader: Reader) -> Path:
    return HERE / "samples" / f"{reader.name}{reader.suffixes[0]}"


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_has_tests_a_section_and_a_sample(reader: Reader) -> None:
    files = [*HERE.glob(f"test_{reader.name}.py"), *HERE.glob(f"{reader.name}/test_*.py")]
    assert files
    assert f"(`{reader.name}`)\n" in FORMATS
    assert sample(reader).is_file()


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
