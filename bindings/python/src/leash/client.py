"""The client of programs with threads: one deployment, its connections, and the locks held through it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, TypeVar, Union

from . import inspection, structs, times, waits
from .calls import Handle, call
from .core import Core
from .gate import Barrier, Latch
from .leader import Watch
from .lock import Lock, Multi
from .native import lib
from .semaphore import Semaphore
from .session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import ClientOptions, LockOptions

C = TypeVar("C", bound="Client")


class Client(Session[None]):
    """Opened at once; closed by close() or at the end of a `with`, which releases what is held through it.

    `uri` says where the locks live, see leash/client.h; default: $LEASH_URI, else "redis://127.0.0.1:6379". `on_event`
    and `on_log` are called on a thread of leash, and must not wait for locks. A forked child must open its own."""

    _core: Core

    def __init__(self, uri: Optional[str] = None, **options: Unpack[ClientOptions]) -> None:
        def open_core(cancel: Optional[Handle]) -> Core:
            return Core(uri, options, cancel)

        self._core = waits.run(open_core, Core.close) if options.get("open_wait") else open_core(None)
        self._main_owner = Handle(lib.leash_owner_new, lib.leash_owner_free)

    def close(self) -> None:
        """Release what is held, and wake all waiters (Closed). A second call does nothing."""
        self._core.close()

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, _type: object, _exception: Optional[BaseException], _at: object) -> None:
        self.close()

    def _ready(self) -> Core:
        return self._core

    def _do(self, name: str, *args: Any, undo: Optional[Callable[[], None]] = None) -> None:
        call(getattr(lib, name), *args)

    def _wait(
        self,
        name: str,
        args: tuple[Any, ...],
        wait_ms: int,
        *more: Any,
        lease: Optional[float] = None,
        undo: Optional[Callable[[], None]] = None,
    ) -> None:
        how = structs.make(structs.Acquire, {"lease": lease}, wait_ms=wait_ms)

        def do(cancel: Optional[Handle]) -> None:
            how.cancel = cancel._as_parameter_ if cancel is not None else None
            call(getattr(lib, name + "_with"), *args, ctypes.byref(how), *more)

        if wait_ms == 0:
            do(None)
        else:
            waits.run(do, lambda _: undo() if undo is not None else None)

    def lock(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """A lock by its name; sends nothing. A `with` waits for at most `wait` seconds, and then raises Timeout.

        mode="read" and mode="write" make the two handles of a read-write lock."""
        return Lock(self, name, options)

    def multi(self, locks: Iterable[Union[str, Lock]], *, wait: Optional[float] = None) -> Multi:
        """Several locks (names, or results of lock()), which are acquired all or none."""
        return Multi(self, [self.lock(lock) if isinstance(lock, str) else lock for lock in locks], times.limit(wait))

    def semaphore(self, name: str, limit: int, **options: Unpack[LockOptions]) -> Semaphore:
        """At most `limit` permits at once, across all machines; sends nothing."""
        return Semaphore(self, name, limit, options)

    def latch(self, name: str, count: int) -> Latch:
        """Opens once `count` parties have arrived, across all machines; sends nothing."""
        return Latch(self, name, count)

    def barrier(self, name: str, parties: int) -> Barrier:
        """Where `parties` parties meet, across all machines; sends nothing."""
        return Barrier(self, name, parties)

    def leader(self, name: str) -> Optional[inspection.Leader]:
        """Who leads, which means who holds the lock of that name; None if nobody does."""
        return self.watch_leader(name, wait=0).__next__()

    def watch_leader(self, name: str, *, wait: Optional[float] = None) -> Watch:
        """`for leader in client.watch_leader("scheduler")`: who leads now, and again after each change."""
        return Watch(self, name, wait)

    def scan(self, pattern: Optional[str] = None) -> list[inspection.LockInfo]:
        """Every held lock of any kind in the deployment whose name matches, as in fnmatch.

        The server is not blocked. A lock may be returned twice, see leash/inspect.h."""
        return inspection.scan(self._core, pattern)
