"""leash: locks in Redis that hold across threads, processes and machines.

    import leash

    with leash.Client("redis://cache", lease=30) as client:
        orders = client.lock("orders")
        with orders:
            ...  # nobody else has it now, anywhere
        if orders.acquire(timeout=5):
            try:
                write(fence=orders.fence)
            finally:
                orders.release()

A lock is a lease. It is renewed for as long as it is held; if its holder dies, it becomes free when the lease ends. A
process that is paused for longer than its lease loses the lock without noticing it: ask `held`, and hand `fence` to
the resource that the lock protects.

leash.aio is the same for asyncio. Times are in seconds. The headers of the C library document all options."""

from __future__ import annotations

from .client import Client
from .condition import Condition
from .errors import (
    Canceled,
    Closed,
    Deadlock,
    Denied,
    Forked,
    InCallback,
    Invalid,
    LeashError,
    Lost,
    Mismatch,
    NoMemory,
    NotHeld,
    Protocol,
    Timeout,
    Unavailable,
    Unknown,
    Unsupported,
)
from .events import Event
from .gate import Barrier, Latch
from .inspection import HoldInfo, Leader, LockInfo, Party, Stats, Times, WaiterInfo
from .leader import Watch
from .lock import Lock, Multi
from .native import lib as _lib
from .semaphore import Permit, Semaphore

__version__: str = _lib.leash_version().decode()

__all__ = [
    "Barrier",
    "Canceled",
    "Client",
    "Closed",
    "Condition",
    "Deadlock",
    "Denied",
    "Event",
    "Forked",
    "HoldInfo",
    "InCallback",
    "Invalid",
    "Latch",
    "Leader",
    "LeashError",
    "Lock",
    "LockInfo",
    "Lost",
    "Mismatch",
    "Multi",
    "NoMemory",
    "NotHeld",
    "Party",
    "Permit",
    "Protocol",
    "Semaphore",
    "Stats",
    "Timeout",
    "Times",
    "Unavailable",
    "Unknown",
    "Unsupported",
    "WaiterInfo",
    "Watch",
]
