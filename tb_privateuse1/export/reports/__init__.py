"""Reports of a view's result: text, Markdown, JUnit XML, CSV, advice."""

__all__ = [
    "advice",
    "csv",
    "junit",
    "markdown",
    "text",
]
