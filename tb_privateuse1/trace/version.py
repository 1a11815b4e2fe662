"""The program's version: part of the provenance of every figure."""

VERSION = "0.2.0"
