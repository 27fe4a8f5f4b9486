"""Locks for tasks, plain and read-write."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Mapping, Optional

from .. import inspection, structs, times
from ..calls import Handle, call
from ..errors import NotHeld
from ..events import EventFunction
from ..lock import View
from ..native import lib
from .shared import Hold, Shared

if TYPE_CHECKING:
    from .session import Session


class LockHold(Hold, View):
    async def extend(self, lease: float) -> None:
        """Make sure that the lease lasts for so many seconds from now."""
        if self._own is None:
            raise NotHeld(f"{self._shared!r}: this hold was released already")
        await self._shared._run(lib.leash_lock_extend_start, self._own, times.milliseconds(lease))


class Lock(Shared[LockHold], View):
    """A lock by its name. Made by Client.lock(). `held`, `fence` and the like are of the current task's hold."""

    _acquire_start = lib.leash_lock_acquire_start
    _release_start = lib.leash_lock_release_start
    _hold_type = LockHold

    def __init__(
        self,
        client: Session,
        name: str,
        options: Mapping[str, Any],
        on_event: Optional[EventFunction] = None,
        wait: float = math.inf,
    ) -> None:
        self.name = name
        self._make = functools.partial(client._ready().lock, name, options, on_event)
        super().__init__(client, wait)

    def _new(self) -> Handle:
        return self._make(Handle(lib.leash_owner_new, lib.leash_owner_free))

    def __repr__(self) -> str:
        return f"<leash.aio.Lock {self.name!r} at {self.client.uri}>"

    async def extend(self, lease: float) -> None:
        """Make sure that the lease of this task's hold lasts for so many seconds from now."""
        await self._mine().extend(lease)

    async def adopt(self, token: str) -> LockHold:
        """Take over the hold of a process that has ended. See leash/takeover.h."""
        return await self._have(lib.leash_lock_adopt_start, structs.text(token))

    async def locked(self) -> bool:
        """Does anybody hold it? The server is asked."""
        return (await self.inspect()).held

    async def inspect(self) -> inspection.LockInfo:
        """Ask the server who has it, since when, for how long still, and how many wait."""
        return await self.client._in_thread(inspection.lock, self._any())

    async def holders(self) -> list[inspection.HoldInfo]:
        return await self.client._in_thread(inspection.holders, lib.leash_lock_holders, self._any())

    async def waiters(self) -> list[inspection.WaiterInfo]:
        return await self.client._in_thread(inspection.waiters, lib.leash_lock_waiters, self._any())

    async def break_(self) -> None:
        """Take it from whoever has it; the next in the queue gets it. See leash/takeover.h."""
        await self.client._in_thread(call, lib.leash_lock_break, self._any())
