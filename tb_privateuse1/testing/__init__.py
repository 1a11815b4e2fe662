"""Budgets in tests: a pytest plugin that records steps and fails a test that exceeds its budget.

``pytest_plugin`` has options, marker and fixture, and imports nothing heavy. ``budget`` reads the
marker, ``recording`` records steps, and ``judgment`` compares them with budget and baseline.
"""

__all__ = ["pytest_plugin"]
