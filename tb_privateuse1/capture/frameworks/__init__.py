"""Callbacks that record with frameworks (docs/guide/frameworks.md); each module imports its own."""
