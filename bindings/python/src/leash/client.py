"""The client of programs with threads: one deployment, its connections, and the locks held through it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterable, Optional, Union

from .events import EventFunction
from .lock import Lock, Multi
from .semaphore import Semaphore
from .session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import LockOptions


class Client(Session):
    """Opened at once, and closed by close() or at the end of a `with`: what is held through it is released then.

    `uri` says where the locks live, see leash/client.h; default: $LEASH_URI, else "redis://127.0.0.1:6379". `on_event`
    and `on_log` are called on a thread of leash, and must not wait for locks. A forked child opens its own client."""

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
