"""The operations of the product: `Memory`, with handoffs and sessions under `Memory.handoffs`."""

from aimemory.api.memory import Memory

__all__ = ["Memory"]
