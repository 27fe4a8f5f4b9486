"""Semaphores for tasks: at most N permits at once, across all machines; see leash/semaphore.h."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Coroutine, Generator, Optional

from .. import errors
from ..errors import LeashError
from ..semaphore import Given, PermitBase, SemaphoreBase
from .lock import AskedByTasks
from .operation import Nothing

if TYPE_CHECKING:
    from .client import Client


class Permit(PermitBase[Nothing]):
    """Any task may give them back; so does the end of an `async with`."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__(client, name)
        self._turn = asyncio.Lock()  # of operations, as leash has one at a time for a permit

    async def _do(self, name: str, *args: Any) -> None:
        async with self._turn:
            await self.client._do(name, self._here(), *args)

    async def release(self) -> None:
        self.client._ready()
        async with self._turn:
            await self.client._do("leash_permit_release", Given(self))

    async def __aenter__(self) -> Permit:
        return self

    async def __aexit__(self, _type: object, exception: Optional[BaseException], _at: object) -> None:
        try:
            await self.release()
        except LeashError as failure:
            errors.behind(exception, failure)


class Acquiring:
    """What Semaphore.acquire() returns: await it, or use it with `async with`."""

    def __init__(self, acquired: Coroutine[Any, Any, Permit]) -> None:
        self._acquired = acquired
        self._permit: Optional[Permit] = None

    def __await__(self) -> Generator[Any, None, Permit]:
        return self._acquired.__await__()

    async def __aenter__(self) -> Permit:
        self._permit = await self
        return self._permit

    async def __aexit__(self, *left: Any) -> None:
        assert self._permit is not None
        await self._permit.__aexit__(*left)


class Semaphore(SemaphoreBase[Nothing], AskedByTasks):
    """Made by Client.semaphore(); any number of tasks may share it."""

    client: Client

    def acquire(self, count: int = 1, timeout: Optional[float] = None, *, lease: Optional[float] = None) -> Acquiring:
        """`count` permits or none: `async with semaphore.acquire() as permit:`. Timeout: too few were free in time.

        None waits as the semaphore's `wait` says, without limit if that was not given; 0 tries once."""
        return Acquiring(self._acquired(count, timeout, lease))

    async def _acquired(self, count: int, timeout: Optional[float], lease: Optional[float]) -> Permit:
        permit = Permit(self.client, self.name)
        await self._acquire(permit, count, timeout, lease)
        return permit

    async def adopt(self, count: int, token: str) -> Permit:
        """Take over `count` permits of a process that has ended. See leash/takeover.h."""
        permit = Permit(self.client, self.name)
        await self._adopt(permit, count, token)
        return permit
