"""The version of the package and so of everything it computed; part of every provenance."""

__version__ = "0.1.0"
