"""Locks for tasks, plain and read-write."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Mapping

from .. import inspection, structs
from ..calls import Handle
from ..errors import NotHeld
from ..lock import Asked, View
from ..native import lib
from .condition import Condition
from .operation import Nothing
from .shared import Hold, Shared, Undo

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options import ConditionOptions
    from .client import Client


class AskedByTasks(Asked[Nothing]):
    client: Client

    async def inspect(self) -> inspection.LockInfo:
        """Ask the server who holds it, since when, for how much longer, and how many wait."""
        return await self.client._in_thread(inspection.inspect, self._holders, self._any())

    async def holders(self) -> list[inspection.HoldInfo]:
        return await self.client._in_thread(inspection.holders, self._holders, self._any())

    async def waiters(self) -> list[inspection.WaiterInfo]:
        return await self.client._in_thread(inspection.waiters, self._waiters, self._any())


class LockHold(Hold, View[Nothing]):
    async def _do(self, name: str, *args: Any) -> None:
        if self._own is None:
            raise NotHeld(f"{self._shared!r}: this hold was released already")
        await self._shared.client._do(name, self._own, *args)


class Lock(Shared[LockHold], AskedByTasks, View[Nothing]):
    """A lock by its name. Made by Client.lock(). `held`, `fence` and the like are about the current task's hold."""

    client: Client
    _kind = "leash_lock"
    _hold_type = LockHold

    def __init__(self, client: Client, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        self._make = functools.partial(client._ready().lock, name, options)
        super().__init__(client, options)

    def _new(self) -> Handle:
        return self._make(Handle(lib.leash_owner_new, lib.leash_owner_free))

    def __repr__(self) -> str:
        return f"<leash.aio.Lock {self.name!r} at {self.client.uri}>"

    async def _do(self, name: str, *args: Any) -> None:
        await self._mine()._do(name, *args)

    async def upgrade(self, reads: Lock) -> LockHold:
        """For mode "write": go from reading by `reads` to writing, at once, or raise Timeout. See leash/readwrite.h.

        From then on the task holds both; release() of this lock goes back to reading."""
        reading = reads._mine()._own
        assert reading is not None

        def new() -> Handle:
            made = self._make(reading.owner)
            made.is_shared = reading.is_shared = True  # else the next to get the one might have what the other holds
            return made

        def begin(handle: Handle, undo: Undo) -> Nothing:
            return self.client._do("leash_lock_upgrade", handle, undo=undo)

        return await self._have(begin, new)

    async def adopt(self, token: str) -> LockHold:
        """Take over the hold of a process that has ended. See leash/takeover.h."""

        def begin(handle: Handle, undo: Undo) -> Nothing:
            return self.client._do("leash_lock_adopt", handle, structs.text(token), undo=undo)

        return await self._have(begin)

    def condition(self, name: str, **options: Unpack[ConditionOptions]) -> Condition:
        """Something that changes under the lock ("not empty"); sends nothing."""
        return Condition(self, name, options)

    async def locked(self) -> bool:
        """Is there a holder? This asks the server."""
        return (await self.inspect()).held
