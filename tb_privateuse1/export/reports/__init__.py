"""Reports of a view's result: text, Markdown, JUnit XML, CSV and SARIF; and of several in HTML."""

__all__ = [
    "advice",
    "csv",
    "html",
    "junit",
    "markdown",
    "summary",
    "text",
]
