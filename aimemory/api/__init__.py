"""The operations of the product: `Memory`, with handoffs under `Memory.handoffs`, sessions under `Memory.history`."""

from aimemory.api.memory import Memory

__all__ = ["Memory"]
