"""The client of programs with an event loop, and the locks held through it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterable, Optional

from ..events import EventFunction
from .lock import Lock
from .multi import Multi
from .semaphore import Semaphore
from .session import Session

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options import LockOptions


class Client(Session):
    """Opened by `async with` or `await client.open()`, and closed at its end or by `await client.close()`.

    `uri` and the options are those of leash.Client. `on_event` and `on_log` are called by the loop. A client is of one
    loop and one process: a forked child opens a client of its own."""

    def lock(
        self,
        name: str,
        *,
        on_event: Optional[EventFunction] = None,
        wait: float = math.inf,
        **options: Unpack[LockOptions],
    ) -> Lock:
        """A lock by its name; talks to nobody. `async with` waits for `wait` seconds, and raises Timeout then.

        mode="read" and mode="write" make the two sides of a read-write lock."""
        self._ready()
        return Lock(self, name, options, self._in_loop(on_event), wait)

    def multi(self, names: Iterable[str], *, wait: float = math.inf, **options: Unpack[LockOptions]) -> Multi:
        """Several locks, to be taken all or none; talks to nobody."""
        return Multi(self, list(names), options, wait)

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
        self._ready()
        return Semaphore(self, name, limit, options, self._in_loop(on_event), wait)
