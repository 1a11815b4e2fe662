"""Generators of documents: ``python -m docs.generate`` writes them, ``--check`` compares."""
