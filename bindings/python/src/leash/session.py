"""A client, for threads or for tasks, and how the objects that it made call leash.

A kind of leash is written once for both, where it can be: `latch.wait()` is `client._wait("leash_latch_await", ...)`,
which waits for threads, and is a coroutine for tasks. N is the result of a call without a value: None, or a
coroutine of None."""

from __future__ import annotations

from typing import Any, Callable, Generic, Optional, TypeVar

from . import inspection
from .core import Core

N = TypeVar("N")


def package_of(made: object) -> str:
    return type(made).__module__.rpartition(".")[0]


class Session(Generic[N]):
    _core: Optional[Core] = None

    @property
    def uri(self) -> str:
        """Where its locks live, without secrets; empty before the open."""
        return self._core.uri if self._core is not None else ""

    @property
    def closed(self) -> bool:
        """Is it closed, or not yet open?"""
        return self._core is None or self._core.closed

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Client {self.uri}{', closed' if self.closed else ''}>"

    def _ready(self) -> Core:
        """To be called by."""
        raise NotImplementedError

    def _do(self, name: str, *args: Any, undo: Optional[Callable[[], N]] = None) -> N:
        """Make a call that waits only for the server. `undo` is as for _wait()."""
        raise NotImplementedError

    def _wait(
        self,
        name: str,
        args: tuple[Any, ...],
        wait_ms: int,
        *more: Any,
        lease: Optional[float] = None,
        undo: Optional[Callable[[], N]] = None,
    ) -> N:
        """Make a call that waits for others, with a leash_acquire between `args` and `more`.

        If the call is interrupted or canceled, and was done anyway, `undo` is called."""
        raise NotImplementedError

    def stats(self) -> inspection.Stats:
        """What this client has done so far."""
        return inspection.stats(self._ready())

    def times(self, which: str, group: Optional[str] = None) -> inspection.Times:
        """How long things took: "wait", "hold", "left" of the lease at a renewal, "round_trip".

        For the whole client, or for the locks with that `group`; see leash/metrics.h."""
        return inspection.times(self._ready(), which, group)

    def metrics(self) -> str:
        """Counts and times in the text format of Prometheus, for the code that answers its scrapes."""
        return inspection.metrics(self._ready())
