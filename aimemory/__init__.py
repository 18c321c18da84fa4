"""aimemory: long-term memory and handoffs for AI coding agents.

This module imports nothing, so that the hook client can reach `aimemory.privacy` under `python -I -S` at no cost.
"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "Memory":
        import importlib

        return importlib.import_module("aimemory.api").Memory
    raise AttributeError(f"module 'aimemory' has no attribute {name!r}")
