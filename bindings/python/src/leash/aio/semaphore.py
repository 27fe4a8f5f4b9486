"""Semaphores for tasks: at most so many at once, over all machines; see leash/semaphore.h."""

from __future__ import annotations

import asyncio
import ctypes
from typing import TYPE_CHECKING, Any, Generator, Optional

from .. import errors, inspection, times
from ..calls import call
from ..native import lib
from ..semaphore import PermitView, SemaphoreBase
from .operation import run

if TYPE_CHECKING:
    from .session import Session


class Permit(PermitView):
    """Permits that were acquired together; any task may give them back, or the end of an `async with`."""

    def __init__(self, client: Session, name: str, pointer: int, count: int) -> None:
        super().__init__(name, pointer, count)
        self._client = client
        self._turn = asyncio.Lock()  # of operations, as leash has one at a time for a permit

    async def release(self) -> None:
        """Give all of them back. Lost: they had been lost. They are given back whatever is raised."""
        async with self._turn:
            await run(self._client._loop, lib.leash_permit_release_start, self._give())

    async def release_some(self, count: int) -> None:
        """Give `count` of them back, less than all."""
        async with self._turn:
            await run(self._client._loop, lib.leash_permit_release_some_start, self._here(), count)
            self._count -= count

    async def extend(self, lease: float) -> None:
        """Make sure that their lease lasts for so many seconds from now."""
        async with self._turn:
            await run(self._client._loop, lib.leash_permit_extend_start, self._here(), times.milliseconds(lease))

    async def __aenter__(self) -> Permit:
        return self

    async def __aexit__(self, _type: object, exception: Optional[BaseException], _at: object) -> None:
        with errors.behind(exception):
            await self.release()


class Acquiring:
    """What Semaphore.acquire() returns: to be awaited, or for `async with`."""

    def __init__(self, semaphore: Semaphore, count: int, how: Any) -> None:
        self._semaphore = semaphore
        self._count = count
        self._how = how
        self._permit: Optional[Permit] = None

    async def _acquire(self) -> Permit:
        client, out = self._semaphore.client, ctypes.c_void_p()

        def permit() -> Permit:
            assert out.value is not None
            return Permit(client, self._semaphore.name, out.value, self._count)

        client._ready()
        await run(
            client._loop,
            lib.leash_semaphore_acquire_start,
            self._semaphore._handle,
            self._count,
            ctypes.byref(self._how),
            ctypes.byref(out),
            undo=lambda: permit().release(),
        )
        return permit()

    def __await__(self) -> Generator[Any, None, Permit]:
        return self._acquire().__await__()

    async def __aenter__(self) -> Permit:
        self._permit = await self
        return self._permit

    async def __aexit__(self, *left: Any) -> None:
        assert self._permit is not None
        await self._permit.__aexit__(*left)


class Semaphore(SemaphoreBase):
    """Made by Client.semaphore(); any number of tasks may share it."""

    client: Session

    def acquire(self, count: int = 1, timeout: Optional[float] = None, *, lease: Optional[float] = None) -> Acquiring:
        """`count` permits or none: `async with semaphore.acquire() as permit:`. Timeout: too few were free so long.

        None waits as the semaphore's `wait` says, without end if that was not given; 0 tries once."""
        return Acquiring(self, count, self._how(timeout, lease))

    async def set_limit(self, limit: int, seconds: float) -> None:
        """Let no more than `limit` be out for so long, for all clients; 0 closes. 0 seconds end that."""
        ms = times.milliseconds(seconds)
        await self.client._in_thread(call, lib.leash_semaphore_limit, self._handle, limit, ms)

    async def break_(self) -> None:
        """Take the permits from all who have them."""
        await self.client._in_thread(call, lib.leash_semaphore_break, self._handle)

    async def inspect(self) -> inspection.LockInfo:
        """Ask the server how many are out, and how many calls wait."""
        return await self.client._in_thread(inspection.semaphore, self._handle)

    async def holders(self) -> list[inspection.HoldInfo]:
        return await self.client._in_thread(inspection.holders, lib.leash_semaphore_inspect, self._handle)

    async def waiters(self) -> list[inspection.WaiterInfo]:
        return await self.client._in_thread(inspection.waiters, lib.leash_semaphore_waiters, self._handle)
