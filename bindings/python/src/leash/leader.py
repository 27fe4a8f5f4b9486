"""Leaders: the holder of a lock leads, and all can know who it is; see leash/leader.h."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Generic, Iterator, Optional

from . import inspection, structs, times
from .calls import Handle
from .errors import LeashError
from .native import lib
from .session import N, Session, package_of


class WatchBase(Generic[N]):
    """Yields who leads now, and again after each change; None if nobody leads. Made by Client.watch_leader().

    One thread or task at a time may use it. After `wait` seconds without a change it raises Timeout. After this, and
    after any other exception, it continues when it is asked again. An interruption may lose a change; after one, it
    first yields the present state."""

    def __init__(self, client: Session[N], name: str, wait: Optional[float]) -> None:
        self.client = client
        self.name = name
        self._wait_ms = times.limit(wait)
        self._watch: Optional[Handle] = self._new()

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Watch {self.name!r} at {self.client.uri}>"

    def _new(self) -> Handle:
        return Handle(lib.leash_watch_new, lib.leash_watch_free, self.client._ready(), structs.text(self.name))

    def _next(self, found: Any) -> N:
        if self._watch is None:
            self._watch = self._new()
        return self.client._wait("leash_watch_next", (self._watch,), self._wait_ms, ctypes.byref(found))

    @contextlib.contextmanager
    def _news(self) -> Iterator[Any]:
        """What to put them into."""
        try:
            yield structs.make(structs.Leader)
        except LeashError:
            raise
        except BaseException:
            self._watch = None
            raise


class Watch(WatchBase[None]):
    __doc__ = WatchBase.__doc__

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Optional[inspection.Leader]:
        with self._news() as found:
            self._next(found)
        return inspection.leader(found)
