"""Locks, plain and read-write, and sets of them, for threads; and what they share with those of tasks.

As with threading.RLock, the owner of a hold is the thread that acquired it, and holds nest. If the body of a `with`
raises an exception, this exception is raised, even if the release fails; the failure is then a note of the exception
(Python 3.11). Otherwise the end of the `with` raises the failure of the release: Lost, if another owner may have held
the lock meanwhile."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Generic, Mapping, Optional, Sequence, TypeVar

from . import errors, inspection, structs, times, waits
from .calls import Handle
from .condition import Condition
from .errors import LeashError, Timeout
from .native import lib
from .session import N, Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .client import Client
    from .options import ConditionOptions

_TOKEN_SIZE = 64  # LEASH_TOKEN_MAX


def token_of(function: Callable[..., int], handle: Any) -> str:
    buffer = ctypes.create_string_buffer(_TOKEN_SIZE)
    function(handle, buffer, _TOKEN_SIZE)
    return structs.string(buffer.value)


class View(Generic[N]):
    """A hold: what is known about it from memory, and what both threads and tasks do with it."""

    def _handle(self) -> Optional[Handle]:
        raise NotImplementedError

    def _do(self, name: str, *args: Any) -> N:
        raise NotImplementedError

    @property
    def held(self) -> bool:
        """Is it held, and its lease valid? Never true after the moment at which another owner could have the lock."""
        return bool(lib.leash_lock_held(self._handle()))

    @property
    def remaining(self) -> float:
        """For how many seconds it is valid without another renewal; 0: not held."""
        return float(lib.leash_lock_remaining_ms(self._handle())) / 1000

    @property
    def fence(self) -> int:
        """Hand it to the resource that the lock protects, which refuses smaller ones than it has seen; 0: not held."""
        return int(lib.leash_lock_fence(self._handle()))

    @property
    def depth(self) -> int:
        """How deep it is nested; a lost hold counts until it is released."""
        return int(lib.leash_lock_depth(self._handle()))

    @property
    def token(self) -> str:
        """The token by which another process can adopt it; empty: not held."""
        return token_of(lib.leash_lock_token, self._handle())

    def alive(self) -> None:
        """Tell the watchdog that the work is making progress; see the option `alive`."""
        lib.leash_lock_alive(self._handle())

    def extend(self, lease: float) -> N:
        """Make sure that the lease lasts at least `lease` seconds from now."""
        return self._do("leash_lock_extend", times.milliseconds(lease))

    def proclaim(self, value: str) -> N:
        """Let all watchers know this value of the leader, the lock's holder, until the release. See leash/leader.h."""
        return self._do("leash_lock_proclaim", structs.text(value))


class Asked(Generic[N]):
    """A lock or a semaphore, about which the server can be asked."""

    client: Session[N]
    _kind = "leash_lock"
    _holders = lib.leash_lock_holders
    _waiters = lib.leash_lock_waiters

    def _any(self) -> Handle:
        """For questions, which need no owner."""
        raise NotImplementedError

    def break_(self) -> N:
        """Take it from its holder (permits from all holders); the next waiter gets it. See leash/takeover.h."""
        return self.client._do(self._kind + "_break", self._any())


class AskedByThreads(Asked[None]):
    def inspect(self) -> inspection.LockInfo:
        """Ask the server who holds it, since when, for how much longer, and how many wait."""
        return inspection.inspect(self._holders, self._any())

    def holders(self) -> list[inspection.HoldInfo]:
        return inspection.holders(self._holders, self._any())

    def waiters(self) -> list[inspection.WaiterInfo]:
        return inspection.waiters(self._waiters, self._any())


G = TypeVar("G", bound="_Guard")


class _Guard:
    """What threads acquire and release, and use with `with`."""

    client: Client
    _pair: waits.Pair
    _wait_ms: int  # of `with`
    _kind: str

    def _handle(self) -> Handle:
        return waits.handle_of(self._pair)

    def _take(self, wait_ms: int, lease: Optional[float] = None) -> None:
        self.client._wait(self._kind + "_acquire", (self._handle(),), wait_ms, lease=lease, undo=self.release)

    def acquire(self, blocking: bool = True, timeout: Optional[float] = -1, *, lease: Optional[float] = None) -> bool:
        """As in threading.Lock: False if another owner had it until `timeout` seconds were over. -1 or None: no limit.

        `lease` is the lease of this hold, in seconds. Any other failure is raised, such as Unavailable if the server
        could not be asked in time."""
        try:
            self._take(times.wait(blocking, timeout), lease)
        except Timeout:
            return False
        return True

    def release(self) -> None:
        """Undo one acquire. Lost: the hold had been lost. Whatever is raised, there is one acquire less to undo."""
        self.client._do(self._kind + "_release", self._handle())

    def __enter__(self: G) -> G:
        self._take(self._wait_ms)
        return self

    def __exit__(self, _type: object, exception: Optional[BaseException], _at: object) -> None:
        try:
            self.release()
        except LeashError as failure:
            errors.behind(exception, failure)


class Lock(_Guard, AskedByThreads, View[None]):
    """A lock by its name. Made by Client.lock(); any number of threads may share it."""

    client: Client
    _kind = "leash_lock"

    def __init__(self, client: Client, name: str, options: Mapping[str, Any]) -> None:
        self.client = client
        self.name = name
        self._wait_ms = times.limit(options.get("wait"))
        core = client._ready()
        self._pair = (core.lock(name, options), core.lock(name, options, client._main_owner))

    def __repr__(self) -> str:
        return f"<leash.Lock {self.name!r} at {self.client.uri}, depth {self.depth}>"

    _any = _Guard._handle

    def _do(self, name: str, *args: Any) -> None:
        self.client._do(name, self._handle(), *args)

    def _take(self, wait_ms: int, lease: Optional[float] = None) -> None:
        super()._take(wait_ms if self.depth == 0 else 0, lease)  # nested it is answered from memory

    def upgrade(self) -> None:
        """For mode "write": go from reading to writing, at once, or raise Timeout. See leash/readwrite.h."""
        self._do("leash_lock_upgrade")

    def adopt(self, token: str) -> None:
        """Take over the hold of a process that has ended. See leash/takeover.h."""
        self._do("leash_lock_adopt", structs.text(token))

    def condition(self, name: str, **options: Unpack[ConditionOptions]) -> Condition:
        """Something that changes under the lock ("not empty") and can be waited for; sends nothing."""
        return Condition(self, name, options)

    def locked(self) -> bool:
        """Is there a holder? This asks the server."""
        return self.inspect().held


def set_of(locks: Sequence[Handle]) -> Handle:
    pointers = (ctypes.c_void_p * len(locks))(*(lock._as_parameter_ for lock in locks))
    made = Handle(lib.leash_multi_new, lib.leash_multi_free, pointers, len(locks), needs=locks)
    made.locks = tuple(locks)
    return made


class SetView:
    """What is known about a hold of several locks from memory."""

    def _handle(self) -> Optional[Handle]:
        raise NotImplementedError

    @property
    def held(self) -> bool:
        """Are all of them held?"""
        return bool(lib.leash_multi_held(self._handle()))

    @property
    def remaining(self) -> float:
        """For how many seconds all of them are valid without another renewal; 0: not all are held."""
        return float(lib.leash_multi_remaining_ms(self._handle())) / 1000

    @property
    def fences(self) -> list[int]:
        """The fence of each of them, in the order in which the set was made."""
        handle = self._handle()
        return [int(lib.leash_lock_fence(lock)) for lock in handle.locks] if handle is not None else []


class Multi(_Guard, SetView):
    """Several locks as one: all or none, without deadlocks. Made by Client.multi(); see leash/multi.h."""

    _kind = "leash_multi"

    def __init__(self, client: Client, locks: Sequence[Lock], wait_ms: int) -> None:
        self.client = client
        self.locks = tuple(locks)
        self._wait_ms = wait_ms
        self._pair = (set_of([lock._pair[0] for lock in locks]), set_of([lock._pair[1] for lock in locks]))

    def __repr__(self) -> str:
        return f"<leash.Multi {[lock.name for lock in self.locks]!r}>"
