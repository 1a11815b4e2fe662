"""Prepare pages for the documentation site: a hook of mkdocs.

The documents are written for a reader of the repository. On the site, a link to a file outside of
``docs/`` becomes plain text, and the Python page lists the public modules of ``mkdocs.yml``.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^()\s]*)\)")
_API = "<!-- api -->"
_FOREIGN = re.compile(
    r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
)


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return the page's text as the site needs it."""
    folder = posixpath.dirname(page.file.src_uri)

    def inside(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        return match[1] if target.startswith("..") else match[0]

    directives = "\n".join(f"::: {name}" for name in config.extra["python_api"])
    return _LINK.sub(inside, markdown).replace(_API, directives)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Return the page as it is. Raises ValueError if it loads something from another host."""
    if found := _FOREIGN.search(output):
        raise ValueError(f"{page.file.src_uri} is not offline: {found[0]}")
    return output
