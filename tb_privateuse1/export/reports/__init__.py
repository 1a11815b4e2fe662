"""Reports of a view's result or a check: text, Markdown, JUnit XML, CSV and SARIF."""

__all__ = [
    "advice",
    "check",
    "csv",
    "junit",
    "markdown",
    "text",
]
