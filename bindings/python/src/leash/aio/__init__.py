"""leash for asyncio.

    from leash import aio

    async with aio.Client("redis://cache") as client:
        orders = client.lock("orders")
        async with orders as hold:
            await write(fence=hold.fence)
        gpu = client.semaphore("gpu", 3)
        async with gpu.acquire():
            ...

Any number of tasks may share a lock. A task that is canceled during its wait leaves the queue, and holds nothing."""

from __future__ import annotations

from .client import Client
from .condition import Condition
from .gate import Barrier, Latch
from .leader import Watch
from .lock import Lock, LockHold
from .multi import Multi, MultiHold
from .semaphore import Permit, Semaphore

__all__ = [
    "Barrier",
    "Client",
    "Condition",
    "Latch",
    "Lock",
    "LockHold",
    "Multi",
    "MultiHold",
    "Permit",
    "Semaphore",
    "Watch",
]
