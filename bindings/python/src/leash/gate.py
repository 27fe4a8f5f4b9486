"""Latches and barriers, see leash/gate.h. They have no holder, so any thread or task may use one."""

from __future__ import annotations

from typing import Generic, Optional

from . import inspection, structs, times
from .calls import Handle
from .native import lib
from .session import N, Session, package_of


class LatchBase(Generic[N]):
    """Opens for its waiters once `count` parties have arrived, and stays open. Made by Client.latch().

    An arrival counts for a day, and a latch is used once. For the next use, take another name, or call break_()."""

    def __init__(self, client: Session[N], name: str, count: int) -> None:
        self.client = client
        self.name = name
        self.count = count
        core = client._ready()
        self._handle = Handle(lib.leash_latch_new, lib.leash_latch_free, core, structs.text(name), count)

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Latch {self.name!r} of {self.count} at {self.client.uri}>"

    def count_down(self, party: Optional[str] = None) -> N:
        """Arrive. A `party` ("worker-3") counts once, however often it arrives; without a party each call counts."""
        given = structs.text(party) if party is not None else None
        return self.client._do("leash_latch_count_down", self._handle, given)

    def wait(self, timeout: Optional[float] = None) -> N:
        """Wait until enough have arrived, or raise Timeout after `timeout` seconds; None: no limit; 0 asks once."""
        return self.client._wait("leash_latch_await", (self._handle,), times.wait(True, timeout))

    def break_(self) -> N:
        """Forget all arrivals. One call forgets at most 100: call again until it raises NotHeld."""
        return self.client._do("leash_latch_break", self._handle)


class BarrierBase(Generic[N]):
    """Lets its waiters in as soon as `parties` parties wait, round after round. Made by Client.barrier()."""

    def __init__(self, client: Session[N], name: str, parties: int) -> None:
        self.client = client
        self.name = name
        self.parties = parties
        core = client._ready()
        self._handle = Handle(lib.leash_barrier_new, lib.leash_barrier_free, core, structs.text(name), parties)

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Barrier {self.name!r} of {self.parties} at {self.client.uri}>"

    def wait(self, timeout: Optional[float] = None) -> N:
        """Join the parties, and wait until all are there. Timeout: they were not, and this party was not counted.

        None: no limit; 0: only the last party gets in. A party that is interrupted, or dies, is not counted either."""
        return self.client._wait("leash_barrier_wait", (self._handle,), times.wait(True, timeout))


class Latch(LatchBase[None]):
    __doc__ = LatchBase.__doc__

    def arrived(self) -> int:
        """Ask the server how many parties have arrived."""
        return inspection.arrived(self._handle)


class Barrier(BarrierBase[None]):
    __doc__ = BarrierBase.__doc__
