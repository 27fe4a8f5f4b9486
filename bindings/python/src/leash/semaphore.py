"""Semaphores: at most so many at once, over all machines; see leash/semaphore.h.

A permit belongs to nobody: any thread may use it and give it back. leash frees its memory with the release, so a
Permit lets one call at a time through. One that Python collects before it was given back is released in the
background."""

from __future__ import annotations

import ctypes
import math
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional

from . import errors, inspection, structs, times, waits
from .calls import Handle, call
from .errors import NotHeld
from .events import EventFunction
from .lock import token_of
from .native import lib

if TYPE_CHECKING:
    from .session import Session


def _forgotten(pointer: int, name: str) -> None:
    lib.leash_permit_release_start(pointer, None, None, None, None)
    warnings.warn(f"permits of the semaphore {name!r} were not given back", ResourceWarning, stacklevel=2)


class PermitView:
    """Permits that were acquired together: what can be told of them from memory, in a moment."""

    def __init__(self, name: str, pointer: int, count: int) -> None:
        self.name = name
        self._count = count
        self._mutex = threading.RLock()
        self._pointer: Optional[int] = pointer
        self._finalizer = weakref.finalize(self, _forgotten, pointer, name)
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        return f"<leash.Permit: {self.count} of {self.name!r}, {'held' if self.held else 'not held'}>"

    def _look(self, function: Callable[[Any], Any]) -> Any:
        with self._mutex:
            return function(self._pointer)  # leash answers NULL as if nothing were held

    def _here(self) -> int:
        if self._pointer is None:
            raise NotHeld(f"semaphore '{self.name}': the permits were given back already")
        return self._pointer

    def _give(self) -> int:
        """The pointer, which is the caller's from now on."""
        with self._mutex:
            pointer, self._pointer = self._here(), None
            self._finalizer.detach()
        return pointer

    @property
    def held(self) -> bool:
        """Are they held, and their lease valid? Never true past the moment at which others could have them."""
        return bool(self._look(lib.leash_permit_held))

    @property
    def remaining(self) -> float:
        """For how many seconds they are valid without a further renewal; 0: not held."""
        return float(self._look(lib.leash_permit_remaining_ms)) / 1000

    @property
    def count(self) -> int:
        """How many these are; 0 once they were given back."""
        return self._count if self._pointer is not None else 0

    @property
    def token(self) -> str:
        return str(self._look(lambda pointer: token_of(lib.leash_permit_token, pointer)))

    def alive(self) -> None:
        """Tell the watchdog that work goes on, see the option `alive`."""
        self._look(lib.leash_permit_alive)


class Permit(PermitView):
    """Given back by release(), or at the end of a `with`."""

    def _call(self, function: Callable[..., int], argument: int) -> None:
        with self._mutex:
            call(function, self._here(), argument)

    def release(self) -> None:
        """Give all of them back. Lost: they had been lost. They are given back whatever is raised."""
        call(lib.leash_permit_release, self._give())

    def release_some(self, count: int) -> None:
        """Give `count` of them back, less than all."""
        self._call(lib.leash_permit_release_some, count)
        self._count -= count

    def extend(self, lease: float) -> None:
        """Make sure that their lease lasts for so many seconds from now."""
        self._call(lib.leash_permit_extend, times.milliseconds(lease))

    def __enter__(self) -> Permit:
        return self

    def __exit__(self, _type: object, exception: Optional[BaseException], _at: object) -> None:
        with errors.behind(exception):
            self.release()


class SemaphoreBase:
    """What those of threads and of tasks have in common."""

    def __init__(
        self,
        client: Any,
        name: str,
        limit: int,
        options: Mapping[str, Any],
        on_event: Optional[EventFunction] = None,
        wait: float = math.inf,
    ) -> None:
        self.client = client
        self.name = name
        self.limit = limit
        self._wait = wait
        self._handle = client._ready().semaphore(name, limit, options, on_event)

    def __repr__(self) -> str:
        package = type(self).__module__.rpartition(".")[0]
        return f"<{package}.Semaphore {self.name!r} of {self.limit} at {self.client.uri}>"

    def _how(self, timeout: Optional[float], lease: Optional[float]) -> Any:
        """None waits as `wait` says."""
        wait_ms = times.milliseconds(self._wait if timeout is None else timeout)
        return structs.make(structs.Acquire, {"lease": lease}, wait_ms=wait_ms)


class Semaphore(SemaphoreBase):
    """Made by Client.semaphore(); any number of threads may share it."""

    client: Session

    def acquire(self, count: int = 1, timeout: Optional[float] = None, *, lease: Optional[float] = None) -> Permit:
        """`count` permits or none: `with semaphore.acquire() as permit:`. Timeout: too few were free for so long.

        None waits as the semaphore's `wait` says, without end if that was not given; 0 tries once."""
        how = self._how(timeout, lease)
        out = ctypes.c_void_p()

        def do(cancel: Optional[Handle]) -> Permit:
            how.cancel = cancel._as_parameter_ if cancel is not None else None
            call(lib.leash_semaphore_acquire_with, self._handle, count, ctypes.byref(how), ctypes.byref(out))
            assert out.value is not None
            return Permit(self.name, out.value, count)

        return do(None) if how.wait_ms == 0 else waits.run(do, Permit.release)

    def set_limit(self, limit: int, seconds: float) -> None:
        """Let no more than `limit` be out for so long, for all clients; 0 closes. 0 seconds end that."""
        call(lib.leash_semaphore_limit, self._handle, limit, times.milliseconds(seconds))

    def break_(self) -> None:
        """Take the permits from all who have them."""
        call(lib.leash_semaphore_break, self._handle)

    def inspect(self) -> inspection.LockInfo:
        """Ask the server how many are out, and how many calls wait."""
        return inspection.semaphore(self._handle)

    def holders(self) -> list[inspection.HoldInfo]:
        return inspection.holders(lib.leash_semaphore_inspect, self._handle)

    def waiters(self) -> list[inspection.WaiterInfo]:
        return inspection.waiters(lib.leash_semaphore_waiters, self._handle)
