"""A package ``torch`` whose every name exists, to import what needs torch without having it.

It runs in old versions of Python, too, and imports nothing of ours.
"""

import importlib.abc
import importlib.machinery
import sys
import types


class Anything(type):
    """The type of classes that have every attribute."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Anything(name, (), {"__module__": cls.__module__, **_METHODS})
        setattr(cls, name, made)
        return made

    def __or__(cls, other):
        raise TypeError("unions of types at run time came with Python 3.10")


def _init(self, *, activities=None, schedule=None, on_trace_ready=None):
    pass


def _exit(self, *exception):
    pass


_METHODS = {"__init__": _init, "__exit__": _exit}


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Anything(name, (), {"__module__": self.__name__, **_METHODS})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != "torch":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


def install():
    """Let ``import torch`` find the stub, and no other."""
    sys.meta_path.insert(0, _Finder())
