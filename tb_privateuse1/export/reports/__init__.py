"""Reports of a view's result: text, Markdown, JUnit XML, CSV and SARIF."""

__all__ = [
    "advice",
    "csv",
    "junit",
    "markdown",
    "text",
]
