"""Write the files of a new rule or view: ``python -m tools.scaffold rule|view NAME [CAUSE]``.

``make new-rule`` and ``make new-view`` call it. The result runs as it is; every place for the
author says FILL IN. Templates lie in ``tools/templates``.
"""

from __future__ import annotations

import keyword
import re
import string
import sys
from collections.abc import Callable
from pathlib import Path

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import CAUSES
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.lookups import LOOKUPS

ROOT = Path(__file__).parents[1]
TEMPLATES = Path(__file__).parent / "templates"
PAGES = "frontend/src/pages"
TEXTS = "frontend/src/i18n/en"
EVIDENCE = "benchmarks/planted/evidence.py"
ICON = "M8 2.5a5.5 5.5 0 1 0 .01 0z"


def write_rule(root: Path, name: str, cause: str = "device") -> list[str]:
    """Write a rule, its lines in the registry and the evidence, and its test; return the paths.

    ``RULES`` is sorted by cause: the line goes behind the last rule of the same cause.
    Raises ValueError for a name or cause that cannot be used.
    """
    require_name(name, [*RULES])
    if cause not in CAUSES:
        raise ValueError(f"CAUSE is one of {', '.join(CAUSES)}, not {cause!r}")
    values = {"name": name, "Title": sentence(name), "cause": cause}
    rule, test = f"tb_privateuse1/advice/rules/{name}.py", f"tests/unit/advice/rules/test_{name}.py"
    create(root / rule, "rule.py", values)
    create(root / test, "test_rule.py", values)
    registry = "tb_privateuse1/advice/rules/__init__.py"
    text = (root / registry).read_text()
    rank = CAUSES.index(cause)
    last = [key for key, other in RULES.items() if CAUSES.index(other.cause) <= rank][-1]
    text = insert_after(text, f'        "{last}",\n', f'        "{name}",\n')
    (root / registry).write_text(text)
    edit(root / EVIDENCE, lambda text: register_evidence(text, name, test))
    return [rule, registry, test, EVIDENCE]


def write_view(root: Path, name: str) -> list[str]:
    """Write a view, its page, texts, guide, test and registry lines; return the files' paths.

    The page is the last one of the views. Raises ValueError for a name that cannot be used.
    """
    require_name(name, [*VIEWS, *LOOKUPS])
    words = [word.capitalize() for word in name.split("_")]
    kind = "".join(words)
    key = kind[0].lower() + kind[1:]
    values = {"name": name, "Title": sentence(name), "Class": kind, "key": key}
    view, test = f"tb_privateuse1/views/{name}.py", f"tests/unit/views/test_{name}.py"
    page, texts = f"{PAGES}/{name}/index.tsx", f"{TEXTS}/pages/{name}.ts"
    create(root / view, "view.py", values)
    create(root / page, "page.tsx", values)
    create(root / texts, "page_texts.ts", values)
    create(root / test, "test_view.py", values)
    guide, definitions = "docs/guide/pages.md", "docs/reference/definitions.md"
    edit(root / guide, lambda text: text + filled("page_guide.md", values))
    edit(root / definitions, lambda text: text + filled("definitions.md", values))
    views, pages, english = (
        "tb_privateuse1/views/__init__.py",
        f"{PAGES}/index.ts",
        f"{TEXTS}/index.ts",
    )
    edit(root / views, lambda text: register_view(text, name))
    edit(root / pages, lambda text: register_page(text, name, kind, key))
    edit(root / english, lambda text: register_texts(text, name, key))
    return [view, views, page, pages, texts, english, guide, definitions, test]


def register_evidence(text: str, name: str, test: str) -> str:
    """Return ``evidence.py`` with a test as the recording in which a rule is right."""
    why = "FILL IN: a real recording, or a program with the fault"
    entry = f'    "{name}": Evidence(\n        "test", "{test}",\n        "{why}",\n    ),\n'
    return insert_before(text, "}  # fmt: skip\n", entry)


def register_view(text: str, name: str) -> str:
    """Return ``views/__init__.py`` with a view as the last of ``VIEWS``."""
    return insert_after(text, f'        "{list(VIEWS)[-1]}",\n', f'        "{name}",\n')


def register_page(text: str, name: str, kind: str, key: str) -> str:
    """Return ``pages/index.ts`` with a page as the last of the views, under a free letter."""
    used = set(re.findall(r'letter: "(\w)"', text))
    letter = next(
        one for one in name + "abcdefghijklmnopqrstuvwxyz" if one.isalpha() and one not in used
    )
    entry = (
        f'  {name}: {{\n    title: t.{key}.title,\n    letter: "{letter}",\n'
        f'    component: onDemand(() => import("./{name}").then((page) => page.{kind})),\n'
        f'    icon: "{ICON}",\n  }},\n'
    )
    return insert_before(text, "};\n\nconst OTHERS", entry)


def register_texts(text: str, name: str, key: str) -> str:
    """Return ``i18n/en/index.ts`` with the texts of a page."""
    line = f'import * as {key} from "./pages/{name}";\n'
    text = insert_sorted(text, r'import \* as \w+ from "\./pages/[^"]+";\n', line)
    return insert_before(text, "  ...server,\n", f"  ...{key},\n")


def require_name(name: str, names: list[str]) -> None:
    """Raise ValueError unless a name is a new one in snake_case."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise ValueError(f"NAME is in snake_case, not {name!r}")
    if name in names:
        raise ValueError(f"{name} exists")


def sentence(name: str) -> str:
    """Return ``Step times`` for ``step_times``."""
    return name.replace("_", " ").capitalize()


def create(path: Path, template: str, values: dict[str, str]) -> None:
    """Write a file from a template. Raises FileExistsError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x") as file:
        file.write(filled(template, values))


def filled(template: str, values: dict[str, str]) -> str:
    """Return the text of a template with a name's values."""
    return string.Template((TEMPLATES / f"{template}.txt").read_text()).substitute(values)


def edit(path: Path, change: Callable[[str], str]) -> None:
    """Replace a file's text by the changed text."""
    path.write_text(change(path.read_text()))


def insert_after(text: str, anchor: str, line: str) -> str:
    """Return a text with a line behind the only place of an anchor."""
    return replace_once(text, anchor, anchor + line)


def insert_before(text: str, anchor: str, line: str) -> str:
    """Return a text with a line before the only place of an anchor."""
    return replace_once(text, anchor, line + anchor)


def replace_once(text: str, anchor: str, replacement: str) -> str:
    """Replace the only place of an anchor. Raises ValueError: the registry changed its form."""
    if text.count(anchor) != 1:
        raise ValueError(f"tools/scaffold.py expects this line once in the registry: {anchor!r}")
    return text.replace(anchor, replacement)


def insert_sorted(text: str, pattern: str, line: str) -> str:
    """Return a text with a line among those that match a pattern, before the first greater one."""
    lines = [match[0] for match in re.finditer(f"^{pattern}", text, re.MULTILINE)]
    greater = [other for other in lines if other > line]
    return insert_before(text, greater[0], line) if greater else insert_after(text, lines[-1], line)


AFTER = {
    "rule": "Fill in, run `make api` (docs/reference/rules.md), and\n"
    "`python -m pytest tests/unit/advice/rules -k {name}`.\n"
    "Chinese is optional: tb_privateuse1/i18n/zh/rules/{name}.toml, or a maintainer adds it.",
    "view": "Fill in, run `make api` (types.ts, options), and\n"
    "`python -m pytest tests/unit/views tests/contract/test_contract.py -k {name}`.\n"
    "A new figure needs a line in the view's section of docs/reference/definitions.md.\n"
    "A page with its own URL keys needs url-keys.ts beside it and a line in pages/url-keys.ts.\n"
    "Chinese is optional: frontend/src/i18n/zh/pages/{name}.ts, or a maintainer adds it.",
}
"""The author's remaining work, by what was written."""


def main(arguments: list[str]) -> int:
    """Write the files, print their paths and the remaining work; return 1 with the error."""
    kind, *values = arguments or [""]
    writers = {"rule": write_rule, "view": write_view}
    if kind not in writers or not values:
        print("usage: make new-rule NAME=snake_case [CAUSE=device]", file=sys.stderr)
        print("       make new-view NAME=snake_case", file=sys.stderr)
        return 1
    try:
        paths = writers[kind](ROOT, *values)
    except (ValueError, FileExistsError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(paths))
    print(AFTER[kind].format(name=values[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
