"""Readers, one file per format: a file -> raw columns."""
