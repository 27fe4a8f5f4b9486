"""The client of programs with an event loop, and the locks held through it.

The loop watches leash_client_fd(), and no Python thread waits for a lock. Calls without an asynchronous operation
(opening, closing, questions to the server) run in the loop's executor. What is still under way when the client was
closed there ends with Closed."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, TypeVar

from .. import inspection, structs
from ..calls import call
from ..core import Core
from ..errors import Closed
from ..native import lib
from ..session import Session
from ..waits import Cancel
from .gate import Barrier, Latch
from .leader import Watch
from .lock import Lock
from .multi import Multi
from .operation import Nothing, Operations, run
from .semaphore import Semaphore

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options import ClientOptions, LockOptions

C = TypeVar("C", bound="Client")
T = TypeVar("T")


def _close_if_open(opening: asyncio.Future[Core]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.get_loop().run_in_executor(None, opening.result().close)


class Client(Session[Nothing]):
    """Opened by `async with` or `await client.open()`; closed by the end of `async with` or by `await client.close()`.

    `uri` and the options are those of leash.Client. `on_event` and `on_log` are called by the loop. A client belongs to
    one loop and one process: a forked child must open its own client."""

    def __init__(self, uri: Optional[str] = None, **options: Unpack[ClientOptions]) -> None:
        self._uri = uri
        self._options = options
        self._loop: asyncio.AbstractEventLoop
        self._fd = -1
        self._operations: Operations
        self._closing: Optional[asyncio.Future[None]] = None
        self._turn: Optional[asyncio.Lock] = None  # of tasks that open it

    def _in_loop(self, function: Callable[..., object]) -> Callable[..., None]:
        """The function that a thread of leash calls in place of `function`."""
        loop = self._loop

        def pass_on(*args: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(functools.partial(function, *args))

        return pass_on

    async def open(self: C) -> C:
        if self._turn is None:
            self._turn = asyncio.Lock()
        async with self._turn:
            if self._core is None:
                await self._open()
        if self.closed:
            raise Closed("client: it was closed")
        return self

    async def _open(self) -> None:
        self._loop = asyncio.get_running_loop()
        cancel = Cancel()
        opening = self._loop.run_in_executor(None, Core, self._uri, self._options, cancel, self._in_loop)
        try:
            core = await asyncio.shield(opening)
        except asyncio.CancelledError:
            cancel.fire()
            opening.add_done_callback(_close_if_open)
            raise
        fd = ctypes.c_int()
        call(lib.leash_client_fd, core, ctypes.byref(fd))
        self._operations = Operations(core, self._loop)
        self._core, self._fd = core, fd.value
        self._loop.add_reader(self._fd, self._dispatch)

    async def close(self) -> None:
        """Release what is held, and wake all waiters (Closed). A second call does nothing."""
        if self._core is None or (self._core.closed and (self._closing is None or self._closing.done())):
            return
        self._ready()
        if self._closing is None:
            self._begin_to_close()
        assert self._closing is not None
        await asyncio.shield(self._closing)

    def _begin_to_close(self) -> None:
        try:
            self._loop.remove_reader(self._fd)
            self._closing = self._loop.run_in_executor(None, self._close)
        except BaseException:
            if self._closing is None:
                self._loop.add_reader(self._fd, self._dispatch)
            raise

    def _close(self) -> None:
        """In a thread."""
        assert self._core is not None
        self._core.close()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._operations.close)

    async def __aenter__(self: C) -> C:
        return await self.open()

    async def __aexit__(self, _type: object, _exception: Optional[BaseException], _at: object) -> None:
        await self.close()

    def _dispatch(self) -> None:
        try:
            self._operations.dispatch()
        except Closed:  # by the exit of the interpreter, in another thread
            self._loop.remove_reader(self._fd)

    def _ready(self) -> Core:
        if self._core is None:
            raise Closed("client: it is not open; use `async with`")
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("the client belongs to another event loop")
        return self._core

    async def _in_thread(self, function: Callable[..., T], *args: Any) -> T:
        self._ready()
        return await self._loop.run_in_executor(None, function, *args)

    async def _run(self, start: Callable[..., int], *args: Any, undo: Optional[Callable[[], Nothing]]) -> None:
        self._ready()
        await run(self._operations, start, *args, undo=undo)

    async def _do(self, name: str, *args: Any, undo: Optional[Callable[[], Nothing]] = None) -> None:
        start = getattr(lib, name + "_start", None)
        if start is not None:
            await self._run(start, *args, undo=undo)
        else:
            await self._in_thread(call, getattr(lib, name), *args)

    async def _wait(
        self,
        name: str,
        args: tuple[Any, ...],
        wait_ms: int,
        *more: Any,
        lease: Optional[float] = None,
        undo: Optional[Callable[[], Nothing]] = None,
    ) -> None:
        how = structs.make(structs.Acquire, {"lease": lease}, wait_ms=wait_ms)
        await self._run(getattr(lib, name + "_start"), *args, ctypes.byref(how), *more, undo=undo)

    def lock(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """A lock by its name; sends nothing. `async with` waits for at most `wait` seconds, and then raises Timeout.

        mode="read" and mode="write" make the two handles of a read-write lock."""
        return Lock(self, name, options)

    def multi(self, names: Iterable[str], **options: Unpack[LockOptions]) -> Multi:
        """Several locks, which are acquired all or none; sends nothing."""
        return Multi(self, names, options)

    def semaphore(self, name: str, limit: int, **options: Unpack[LockOptions]) -> Semaphore:
        """At most `limit` permits at once, across all machines; sends nothing."""
        return Semaphore(self, name, limit, options)

    def latch(self, name: str, count: int) -> Latch:
        """Opens once `count` parties have arrived, across all machines; sends nothing."""
        return Latch(self, name, count)

    def barrier(self, name: str, parties: int) -> Barrier:
        """Where `parties` parties meet, across all machines; sends nothing."""
        return Barrier(self, name, parties)

    async def leader(self, name: str) -> Optional[inspection.Leader]:
        """Who leads, which means who holds the lock of that name; None if nobody does."""
        return await self.watch_leader(name, wait=0).__anext__()

    def watch_leader(self, name: str, *, wait: Optional[float] = None) -> Watch:
        """`async for leader in client.watch_leader("scheduler")`: who leads now, and again after each change."""
        return Watch(self, name, wait)

    async def scan(self, pattern: Optional[str] = None) -> list[inspection.LockInfo]:
        """Every held lock of the deployment whose name matches, as leash.Client.scan()."""
        return await self._in_thread(inspection.scan, self._core, pattern)
