"""What any number of tasks may share, as they share an asyncio.Lock.

leash needs an owner for each task, since the thread of the loop acquires for all. So a shared object has as many
handles, each with its own owner, as tasks have held it or waited for it at once, and lends them out. leash queues the
tasks, and hands locks off within the process.

A task that already holds it nests. release() is for the hold of the current task, or else for a hold whose task has
ended: before Python 3.12, asyncio.wait_for() acquires in a task of its own. To let another task release a hold, pass it
what `async with ... as hold` yields.

A coroutine that is dropped during an acquire drops its handle and owner. leash frees them, with what they hold, after
it has reported the end of the operation."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any, Callable, Generic, Mapping, Optional, TypeVar

from .. import errors, times
from ..calls import Handle
from ..errors import Invalid, LeashError, NotHeld, Timeout
from .operation import Nothing

if TYPE_CHECKING:
    from .client import Client

Undo = Callable[[], Nothing]
H = TypeVar("H", bound="Hold")


class Hold:
    """The hold of a task, until it is released once for each acquire."""

    def __init__(self, shared: Shared[Any], handle: Handle, task: Optional[asyncio.Task[Any]]) -> None:
        self._shared = shared
        self._own: Optional[Handle] = handle
        self._task = task
        self._times = 1

    def __repr__(self) -> str:
        return f"<hold of {self._shared!r}, depth {self._times}>"

    def _handle(self) -> Optional[Handle]:
        return self._own

    async def release(self) -> None:
        """Undo one acquire, in any task. Lost: the hold had been lost. It is undone whatever is raised."""
        self._shared.client._ready()
        handle, last = self._own, self._times == 1
        if handle is None:
            raise NotHeld(f"{self._shared!r}: this hold was released already")
        self._times -= 1
        if last:
            self._own = None
            self._shared._holds.pop(self._task, None)
        try:
            await self._shared._give_back(handle)
        except (LeashError, asyncio.CancelledError) as error:
            if last:
                self._shared._lend_again(handle, error)
            raise
        if last:
            self._shared._lend_again(handle)


class Shared(Generic[H]):
    client: Client
    _kind: str
    _hold_type: Callable[[Any, Handle, Optional[asyncio.Task[Any]]], H]

    def __init__(self, client: Client, options: Mapping[str, Any]) -> None:
        self.client = client
        self._wait_ms = times.limit(options.get("wait"))  # of `async with`
        self._holds: dict[Optional[asyncio.Task[Any]], H] = {}
        self._idle = [self._new()]  # which also looks at the options

    def _new(self) -> Handle:
        """A handle with a new owner."""
        raise NotImplementedError

    def _handle(self) -> Optional[Handle]:
        """The handle of the current task's hold."""
        hold = self._holds.get(asyncio.current_task())
        return hold._own if hold is not None else None

    def _lend_again(self, handle: Handle, error: Optional[BaseException] = None) -> None:
        """Unless it may hold something: then it is dropped, and leash releases that."""
        if not handle.is_shared and not isinstance(error, Invalid):
            self._idle.append(handle)

    def _give_back(self, handle: Handle) -> Nothing:
        return self.client._do(self._kind + "_release", handle)

    async def _have(self, begin: Callable[[Handle, Undo], Nothing], new: Optional[Callable[[], Handle]] = None) -> H:
        """The result of `begin` for the current task, with a handle from `new` unless the task already has one."""
        task = asyncio.current_task()
        hold = self._holds.get(task)
        handle = hold._own if hold is not None else None
        if handle is None:
            handle = new() if new is not None else self._idle.pop() if self._idle else self._new()
        try:
            await begin(handle, functools.partial(self._give_back, handle))
        except (LeashError, asyncio.CancelledError) as error:
            if hold is None:
                self._lend_again(handle, error)
            raise
        if hold is None:
            self._holds[task] = hold = self._hold_type(self, handle, task)
        else:
            hold._times += 1
        return hold

    async def _take(self, wait_ms: int, lease: Optional[float] = None) -> H:
        def begin(handle: Handle, undo: Undo) -> Nothing:
            return self.client._wait(self._kind + "_acquire", (handle,), wait_ms, lease=lease, undo=undo)

        return await self._have(begin)

    async def acquire(self, timeout: Optional[float] = None, *, lease: Optional[float] = None) -> bool:
        """False if another owner had it until `timeout` seconds were over; None: no limit; 0 tries once.

        `lease` is the lease of this hold, in seconds. Any other failure is raised, such as Unavailable if the server
        could not be asked in time."""
        try:
            await self._take(times.wait(True, timeout), lease)
        except Timeout:
            return False
        return True

    def _mine(self) -> H:
        hold = self._holds.get(asyncio.current_task())
        if hold is None:
            hold = next((hold for task, hold in self._holds.items() if task is None or task.done()), None)
        if hold is None:
            raise NotHeld(f"{self!r}: the task does not hold it")
        return hold

    async def release(self) -> None:
        """Undo one acquire. Lost: the hold had been lost. It is undone whatever is raised."""
        await self._mine().release()

    async def __aenter__(self) -> H:
        return await self._take(self._wait_ms)

    async def __aexit__(self, _type: object, exception: Optional[BaseException], _at: object) -> None:
        try:
            await self.release()
        except LeashError as failure:
            errors.behind(exception, failure)

    def _any(self) -> Handle:
        """For questions, which need no owner."""
        if not self._idle:
            self._idle.append(self._new())
        return self._idle[0]
