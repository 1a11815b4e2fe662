"""The report of texts that a language lacks, and that such a text is shown in English."""

from __future__ import annotations

import ast

import pytest

from tb_privateuse1 import i18n
from tb_privateuse1.i18n import plural, render, say, untranslated


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> str:
    """Remove one text from the Chinese catalog and return it."""
    known = dict(i18n.catalog("zh"))
    text = "There is no run {wanted}."
    del known[text]
    monkeypatch.setattr(untranslated, "catalog", lambda language: known)
    monkeypatch.setattr(i18n, "catalog", lambda language: known)
    return text


@pytest.mark.long
def test_the_report_lists_a_missing_text_with_its_place(
    lacking: str, capsys: pytest.CaptureFixture[str]
) -> None:
    untranslated.main([])
    first, *rows = capsys.readouterr().out.splitlines()
    assert first == f"zh: {len(rows)} texts are missing and shown in English"
    (row,) = (row for row in rows if row.endswith(lacking))
    assert row.split()[0].startswith("discovery/catalog.py:")


@pytest.mark.long
def test_the_count_is_one_line_per_language(
    lacking: str, capsys: pytest.CaptureFixture[str]
) -> None:
    count = len(untranslated.untranslated("zh"))
    untranslated.main(["--count"])
    assert count >= 1
    assert capsys.readouterr().out == f"zh: {count} texts are missing and shown in English\n"


def test_a_missing_text_is_shown_in_english(lacking: str) -> None:
    text = say(lacking, wanted="r")
    assert render(text, "zh") == "There is no run r."
    assert render(i18n.join_list([text, plural(2, "copy")]), "zh") == "There is no run r.、2 次拷贝"


def test_templates_are_the_literals_of_say_and_plural() -> None:
    call = ast.parse("f(say('a {b}', b=plural(2, 'copy')))").body[0]
    calls = [node for node in ast.walk(call) if isinstance(node, ast.Call)]
    found = {untranslated._template(node, "here") for node in calls}
    assert found == {None, "a {b}", i18n.many("copy")}


def test_a_computed_template_is_an_error() -> None:
    (call,) = (n for n in ast.walk(ast.parse("say(text)")) if isinstance(n, ast.Call))
    with pytest.raises(ValueError, match="here: say"):
        untranslated._template(call, "here")
