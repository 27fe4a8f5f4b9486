"""Conditions of locks, with the names of threading.Condition; see leash/condition.h."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Generic, Mapping, Optional, TypeVar

from . import structs, times, waits
from .calls import Handle
from .errors import Timeout
from .native import lib
from .session import N, Session, package_of

if TYPE_CHECKING:
    from .lock import Lock

T = TypeVar("T")


def condition_of(lock: Handle, name: str, options: Mapping[str, Any]) -> Handle:
    given = ctypes.byref(structs.make(structs.ConditionOptions, options))
    return Handle(lib.leash_condition_new, lib.leash_condition_free, lock, structs.text(name), given, needs=lock)


class ConditionBase(Generic[N]):
    lock: Any
    name: str
    _client: Session[N]

    def _any(self) -> Handle:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Condition {self.name!r} of {self.lock!r}>"

    def notify(self) -> N:
        """Wake the waiter that has waited longest, if there is one. Hold the lock, so that nobody is about to wait."""
        return self._client._do("leash_condition_signal", self._any())

    def notify_all(self) -> N:
        """Wake all waiters, up to 1000 of them."""
        return self._client._do("leash_condition_broadcast", self._any())


class Condition(ConditionBase[None]):
    """Made by Lock.condition(). A `with` acquires its lock."""

    lock: Lock

    def __init__(self, lock: Lock, name: str, options: Mapping[str, Any]) -> None:
        self.lock = lock
        self.name = name
        self._client = lock.client
        self._pair = (condition_of(lock._pair[0], name, options), condition_of(lock._pair[1], name, options))

    def _any(self) -> Handle:
        return waits.handle_of(self._pair)

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Release the lock, at any depth, until notified, then acquire it again. False: no notification in time.

        A wait may end without a notification: check again, or use wait_for(). An exception of leash, other than
        Canceled, NotHeld and Invalid, means that the lock is no longer held; the end of its `with` then raises nothing
        else."""
        try:
            self._client._wait("leash_condition_wait", (self._any(),), times.wait(True, timeout), undo=self.notify)
        except Timeout:
            return False
        return True

    def wait_for(self, predicate: Callable[[], T], timeout: Optional[float] = None) -> T:
        """Wait until the predicate returns a true value, and return it; at the timeout, return its last value."""
        for left in times.left(timeout):
            result = predicate()
            if result or left <= 0:
                break
            self.wait(left)
        return result

    def __enter__(self) -> Condition:
        self.lock.__enter__()
        return self

    def __exit__(self, *left: Any) -> None:
        self.lock.__exit__(*left)
