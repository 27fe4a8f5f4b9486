"""The client of programs with threads: one deployment, its connections, and the locks held through it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterable, Optional, Union

from . import inspection, waits
from .calls import Handle
from .core import Core
from .events import EventFunction, LogFunction
from .lock import Lock, Multi
from .native import lib
from .semaphore import Semaphore

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import ClientOptions, LockOptions


class Client:
    """Opened at once, and closed by close() or at the end of a `with`: what is held through it is released then.

    `uri` says where the locks live, see leash/client.h; default: $LEASH_URI, else "redis://127.0.0.1:6379". `on_event`
    and `on_log` are called on a thread of leash, and must not wait for locks. A forked child opens its own client."""

    def __init__(
        self,
        uri: Optional[str] = None,
        *,
        on_event: Optional[EventFunction] = None,
        on_log: Optional[LogFunction] = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        def open_core(cancel: Optional[Handle]) -> Core:
            return Core(uri, options, on_event, on_log, cancel)

        self._core = waits.run(open_core, Core.close) if options.get("open_wait") else open_core(None)
        self._main_owner = Handle(lib.leash_owner_new, lib.leash_owner_free)

    @property
    def uri(self) -> str:
        """Where its locks live, without secrets."""
        return self._core.uri

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __repr__(self) -> str:
        return f"<leash.Client {self.uri}{', closed' if self.closed else ''}>"

    def close(self) -> None:
        """Release what is held, and wake all who wait (Closed). Again it does nothing."""
        self._core.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, _type: object, _exception: Optional[BaseException], _at: object) -> None:
        self.close()

    def lock(
        self,
        name: str,
        *,
        on_event: Optional[EventFunction] = None,
        wait: float = math.inf,
        **options: Unpack[LockOptions],
    ) -> Lock:
        """A lock by its name; talks to nobody. A `with` waits for `wait` seconds, and raises Timeout then.

        mode="read" and mode="write" make the two sides of a read-write lock."""
        return Lock(self, name, options, on_event, wait)

    def multi(self, locks: Iterable[Union[str, Lock]], *, wait: float = math.inf) -> Multi:
        """Several locks, names or such as lock() made, to be taken all or none."""
        return Multi([self.lock(lock) if isinstance(lock, str) else lock for lock in locks], wait)

    def semaphore(
        self,
        name: str,
        limit: int,
        *,
        on_event: Optional[EventFunction] = None,
        wait: float = math.inf,
        **options: Unpack[LockOptions],
    ) -> Semaphore:
        """At most `limit` permits at once, over all machines; talks to nobody."""
        return Semaphore(self, name, limit, options, on_event, wait)

    def scan(self, pattern: Optional[str] = None) -> list[inspection.LockInfo]:
        """Every lock that is held in the deployment, of whatever kind, and whose name fits, as fnmatch has it.

        The server is not blocked. Some may be there twice, see leash/inspect.h."""
        return inspection.scan(self._core, pattern)

    def stats(self) -> inspection.Stats:
        """What this client has done so far. From memory."""
        return inspection.stats(self._core)

    def times(self, which: str, group: Optional[str] = None) -> inspection.Times:
        """How long things took: "wait", "hold", "left" of the lease at a renewal, "round_trip". From memory.

        Of all of the client, or of the locks with that `group`; see leash/metrics.h."""
        return inspection.times(self._core, which, group)

    def metrics(self) -> str:
        """Counts and times in the text format of Prometheus, for what answers its scrapes. From memory."""
        return inspection.metrics(self._core)
