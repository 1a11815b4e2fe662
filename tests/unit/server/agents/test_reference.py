"""Texts that agents can look up: the skill, definitions, tables of SQL."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from tb_privateuse1.export.trace_tables import COLUMNS
from tb_privateuse1.server.agents import reference, skill
from tb_privateuse1.trace.errors import TraceError


def test_the_skill_has_the_front_matter_that_loaders_read() -> None:
    text = reference.skill()
    front = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{20,1024})\n---\n\n# ", text)
    assert front is not None
    assert front[1] == skill.NAME
    assert "](" not in text
    assert "<!--" not in text
    assert "How not to be misled" in text


def test_the_texts_are_in_the_package() -> None:
    texts = resources.files("tb_privateuse1.server.agents") / "texts"
    assert {file.name for file in texts.iterdir()} == {"skill.txt", "definitions.txt"}


def test_the_skill_is_installed_where_loaders_look(tmp_path: Path) -> None:
    path = skill.install(str(tmp_path / "skills"))
    assert path == tmp_path / "skills" / "tb-privateuse1" / "SKILL.md"
    assert path.read_text(encoding="utf-8") == reference.skill()
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot be written"):
        skill.install(str(tmp_path / "file"))


def test_definitions_are_found_by_their_names() -> None:
    found = reference.define("busy_ns")["matches"]
    assert found[0]["section"] == "Device activities"
    assert "union of all device activities" in found[0]["text"]
    assert all("busy_ns" in match["text"] for match in found)
    for term in ("", "  ", "no such word", "x" * 10_000):
        with pytest.raises(TraceError, match="do not name") as raised:
            reference.define(term)
        assert raised.value.code == "unknown_term"


def test_every_section_has_its_own_name() -> None:
    sections = reference.sections()
    assert len({section.slug for section in sections}) == len(sections) > 10
    assert reference.section_text(sections[0]).startswith("## Time\n\n")


def test_the_tables_of_sql_have_their_columns() -> None:
    tables = reference.sql_tables()["tables"]
    assert [table["name"] for table in tables] == list(COLUMNS)
    (ops,) = reference.sql_tables("ops")["tables"]
    assert {c["name"]: c["meaning"] for c in ops["columns"]} == COLUMNS["ops"]
    with pytest.raises(TraceError, match="There is no table"):
        reference.sql_tables("../ops")
    assert "## kernels\n\n- `row`" in reference.sql_text()
