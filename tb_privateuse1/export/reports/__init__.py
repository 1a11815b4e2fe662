"""Reports of a result or a check: text, Markdown, JUnit XML, CSV, SARIF; of several in HTML."""

__all__ = [
    "advice",
    "check",
    "csv",
    "html",
    "junit",
    "markdown",
    "summary",
    "text",
]
