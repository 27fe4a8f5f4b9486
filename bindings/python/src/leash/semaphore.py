"""Semaphores: at most N permits at once, across all machines; see leash/semaphore.h.

A permit has no owner: any thread may use it and give it back. leash frees its memory at the release, so a Permit lets
one call at a time through. A Permit that Python collects before it was given back is released in the background. The
object is made before the acquire, so this always happens."""

from __future__ import annotations

import ctypes
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Generic, Mapping, Optional

from . import errors, structs, times
from .errors import InCallback, LeashError, NotHeld
from .lock import Asked, AskedByThreads, token_of
from .native import lib
from .session import N, Session, package_of

if TYPE_CHECKING:
    from .client import Client


def _forgotten(permit: ctypes.c_void_p, name: str) -> None:
    if permit.value is not None:
        lib.leash_permit_release_start(permit, None, None, None, None)
        warnings.warn(f"permits of the semaphore {name!r} were not given back", ResourceWarning, stacklevel=2)


class Given:
    """A permit that leash frees: it is taken when ctypes converts the arguments, so that nothing can come between.

    A signal handler that raises during that conversion gets ctypes.ArgumentError, and the permit is still there."""

    def __init__(self, permit: PermitBase[Any]) -> None:
        self._permit = permit._here()
        self._mutex = permit._mutex  # other threads may look at it
        self._value: Optional[int] = None

    @property
    def _as_parameter_(self) -> Optional[int]:
        try:
            with self._mutex:
                self._value, self._permit.value = self._permit.value, None
            return self._value
        except BaseException:
            self.put_back()
            raise

    def put_back(self) -> None:
        if self._value is not None:
            self._permit.value = self._value


class PermitBase(Generic[N]):
    """Permits that were acquired together."""

    def __init__(self, client: Session[N], name: str) -> None:
        self.client = client
        self.name = name
        self._mutex = threading.RLock()
        self._permit = ctypes.c_void_p()
        self._as_parameter_ = ctypes.byref(self._permit)  # where an acquire puts it, which refers to this object
        self._finalizer = weakref.finalize(self, _forgotten, self._permit, name)
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Permit: {self.count} of {self.name!r}, {'held' if self.held else 'not held'}>"

    def _do(self, name: str, *args: Any) -> N:
        raise NotImplementedError

    def release(self) -> N:
        """Give all of them back. Lost: they had been lost. They are given back whatever is raised."""
        raise NotImplementedError

    def _look(self, function: Callable[[Any], Any]) -> Any:
        with self._mutex:
            return function(self._permit)  # leash answers NULL as if nothing were held

    def _here(self) -> ctypes.c_void_p:
        if self._permit.value is None:
            raise NotHeld(f"semaphore '{self.name}': the permits were given back already")
        return self._permit

    @property
    def held(self) -> bool:
        """Are they held, and their lease valid? Never true after the moment at which others could have them."""
        return bool(self._look(lib.leash_permit_held))

    @property
    def remaining(self) -> float:
        """For how many seconds they are valid without another renewal; 0: not held."""
        return float(self._look(lib.leash_permit_remaining_ms)) / 1000

    @property
    def count(self) -> int:
        """How many permits it has; 0 after they were given back."""
        return int(self._look(lib.leash_permit_count))

    @property
    def token(self) -> str:
        return str(self._look(lambda permit: token_of(lib.leash_permit_token, permit)))

    def alive(self) -> None:
        """Tell the watchdog that the work is making progress; see the option `alive`."""
        self._look(lib.leash_permit_alive)

    def release_some(self, count: int) -> N:
        """Give `count` of them back, which must be fewer than all."""
        return self._do("leash_permit_release_some", count)

    def extend(self, lease: float) -> N:
        """Make sure that their lease lasts at least `lease` seconds from now."""
        return self._do("leash_permit_extend", times.milliseconds(lease))


class Permit(PermitBase[None]):
    """Given back by release(), or at the end of a `with`."""

    def _do(self, name: str, *args: Any) -> None:
        with self._mutex:
            self.client._do(name, self._here(), *args)

    def release(self) -> None:
        given = Given(self)
        try:
            self.client._do("leash_permit_release", given)
        except InCallback:  # leash still has them
            given.put_back()
            raise

    def __enter__(self) -> Permit:
        return self

    def __exit__(self, _type: object, exception: Optional[BaseException], _at: object) -> None:
        try:
            self.release()
        except LeashError as failure:
            errors.behind(exception, failure)


class SemaphoreBase(Asked[N]):
    _kind = "leash_semaphore"
    _holders = lib.leash_semaphore_inspect
    _waiters = lib.leash_semaphore_waiters

    def __init__(self, client: Session[N], name: str, limit: int, options: Mapping[str, Any]) -> None:
        self.client = client
        self.name = name
        self.limit = limit
        self._wait_ms = times.limit(options.get("wait"))
        self._handle = client._ready().semaphore(name, limit, options)

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Semaphore {self.name!r} of {self.limit} at {self.client.uri}>"

    def _any(self) -> Any:
        return self._handle

    def _acquire(self, permit: PermitBase[N], count: int, timeout: Optional[float], lease: Optional[float]) -> N:
        """None waits as `wait` says."""
        wait_ms = self._wait_ms if timeout is None else times.milliseconds(timeout)
        return self.client._wait(
            "leash_semaphore_acquire",
            (self._handle, count),
            wait_ms,
            permit,
            lease=lease,
            undo=permit.release,
        )

    def _adopt(self, permit: PermitBase[N], count: int, token: str) -> N:
        return self.client._do(
            "leash_semaphore_adopt", self._handle, count, structs.text(token), permit, undo=permit.release
        )

    def set_limit(self, limit: int, seconds: float) -> N:
        """Let at most `limit` permits be out for some seconds, for all clients; 0 closes; 0 seconds end this limit."""
        return self.client._do("leash_semaphore_limit", self._handle, limit, times.milliseconds(seconds))


class Semaphore(SemaphoreBase[None], AskedByThreads):
    """Made by Client.semaphore(); any number of threads may share it."""

    client: Client

    def acquire(self, count: int = 1, timeout: Optional[float] = None, *, lease: Optional[float] = None) -> Permit:
        """`count` permits or none: `with semaphore.acquire() as permit:`. Timeout: too few were free in time.

        None waits as the semaphore's `wait` says, without limit if that was not given; 0 tries once."""
        permit = Permit(self.client, self.name)
        self._acquire(permit, count, timeout, lease)
        return permit

    def adopt(self, count: int, token: str) -> Permit:
        """Take over `count` permits of a process that has ended. See leash/takeover.h."""
        permit = Permit(self.client, self.name)
        self._adopt(permit, count, token)
        return permit
