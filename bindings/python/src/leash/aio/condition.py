"""Conditions of locks for tasks, with the names of asyncio.Condition; see leash/condition.h."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, TypeVar

from .. import times
from ..calls import Handle
from ..condition import ConditionBase, condition_of
from ..errors import NotHeld, Timeout
from .operation import Nothing

if TYPE_CHECKING:
    from .lock import Lock

T = TypeVar("T")


class Condition(ConditionBase[Nothing]):
    """Made by Lock.condition(). An `async with` acquires its lock."""

    lock: Lock

    def __init__(self, lock: Lock, name: str, options: Mapping[str, Any]) -> None:
        self.lock = lock
        self.name = name
        self._client = lock.client
        self._options = options
        self._handle = self._of(lock._any())

    def _of(self, lock: Handle) -> Handle:
        return condition_of(lock, self.name, self._options)

    def _any(self) -> Handle:
        return self._handle

    async def wait(self, timeout: Optional[float] = None) -> bool:
        """Release the lock, at any depth, until notified, then acquire it again. False: no notification in time.

        A wait may end without a notification, or with an exception, as that of leash.Condition. A cancelled task gets
        its CancelledError after it holds the lock again. Before Python 3.12, asyncio.wait_for() calls this in
        another task, which does not hold the lock; so use `timeout`."""
        lock = self.lock._mine()._own
        if lock is None:
            raise NotHeld(f"{self.lock!r}: the hold was released already")
        try:
            await self._client._wait(
                "leash_condition_wait", (self._of(lock),), times.wait(True, timeout), undo=self.notify
            )
        except Timeout:
            return False
        return True

    async def wait_for(self, predicate: Callable[[], T], timeout: Optional[float] = None) -> T:
        """Wait until the predicate returns a true value, and return it; at the timeout, return its last value."""
        for left in times.left(timeout):
            result = predicate()
            if result or left <= 0:
                break
            await self.wait(left)
        return result

    async def __aenter__(self) -> Condition:
        await self.lock.__aenter__()
        return self

    async def __aexit__(self, *left: Any) -> None:
        await self.lock.__aexit__(*left)
