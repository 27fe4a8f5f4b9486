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

A lock is a lease, which is renewed for as long as it is held; if its holder dies it frees itself. A process that was
paused past its lease has lost it without having noticed: ask `held`, and hand `fence` to what the lock protects.

leash.aio has the same for asyncio. Times are in seconds. The headers of the C library are the manual of all
options."""

from __future__ import annotations

from .client import Client
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
from .inspection import HoldInfo, LockInfo, Party, Stats, Times, WaiterInfo
from .lock import Lock, Multi
from .native import lib as _lib
from .semaphore import Permit, Semaphore

__version__: str = _lib.leash_version().decode()

__all__ = [
    "Canceled",
    "Client",
    "Closed",
    "Deadlock",
    "Denied",
    "Event",
    "Forked",
    "HoldInfo",
    "InCallback",
    "Invalid",
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
]
