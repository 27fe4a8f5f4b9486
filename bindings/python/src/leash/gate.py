"""Latches and barriers, see leash/gate.h. Nobody holds them, so any thread or task may use one."""

from __future__ import annotations

from typing import Generic, Optional

from . import inspection, structs, times
from .calls import Handle
from .native import lib
from .session import N, Session, package_of


class LatchBase(Generic[N]):
    """Opens for those who wait once `count` have arrived, and stays open. Made by Client.latch().

    An arrival counts for a day, and a latch is used once: for the next time take another name, or break_()."""

    def __init__(self, client: Session[N], name: str, count: int) -> None:
        self.client = client
        self.name = name
        self.count = count
        core = client._ready()
        self._handle = Handle(lib.leash_latch_new, lib.leash_latch_free, core, structs.text(name), count)

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Latch {self.name!r} of {self.count} at {self.client.uri}>"

    def count_down(self, party: Optional[str] = None) -> N:
        """Arrive. A `party` ("worker-3") counts once, however often it arrives; without one each call counts."""
        given = structs.text(party) if party is not None else None
        return self.client._do("leash_latch_count_down", self._handle, given)

    def wait(self, timeout: Optional[float] = None) -> N:
        """Until enough have arrived. Timeout: they had not after so many seconds; None: no end, 0 asks once."""
        return self.client._wait("leash_latch_await", (self._handle,), times.wait(True, timeout))

    def break_(self) -> N:
        """Begin anew: nobody has arrived. Of more than 100 it forgets so many: say it again, up to NotHeld."""
        return self.client._do("leash_latch_break", self._handle)


class BarrierBase(Generic[N]):
    """Lets in those who wait once they are `parties`, round after round. Made by Client.barrier()."""

    def __init__(self, client: Session[N], name: str, parties: int) -> None:
        self.client = client
        self.name = name
        self.parties = parties
        core = client._ready()
        self._handle = Handle(lib.leash_barrier_new, lib.leash_barrier_free, core, structs.text(name), parties)

    def __repr__(self) -> str:
        return f"<{package_of(self)}.Barrier {self.name!r} of {self.parties} at {self.client.uri}>"

    def wait(self, timeout: Optional[float] = None) -> N:
        """Be one of the parties, until all are there. Timeout: they were not, and nobody has counted on this one.

        None: no end; 0 is for who would be the last one. Who is interrupted, or dies, is not counted on either."""
        return self.client._wait("leash_barrier_wait", (self._handle,), times.wait(True, timeout))


class Latch(LatchBase[None]):
    __doc__ = LatchBase.__doc__

    def arrived(self) -> int:
        """Ask the server how many have arrived."""
        return inspection.arrived(self._handle)


class Barrier(BarrierBase[None]):
    __doc__ = BarrierBase.__doc__
