"""A client in an event loop: what locks and semaphores need of it.

The loop watches leash_client_fd(), and no thread of Python's waits for a lock. What leash has no operation for
(opening, closing, questions to the server) is done by the loop's executor. While the client closes there, leash tells
the end of what is under way on that thread, which hands it to the loop."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, TypeVar

from .. import inspection
from ..calls import Handle, call
from ..core import Core
from ..errors import Closed
from ..events import EventFunction, LogFunction
from ..native import lib
from .operation import dispatch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options import ClientOptions

S = TypeVar("S", bound="Session")
T = TypeVar("T")


def _close_if_open(opening: asyncio.Future[Core]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.get_loop().run_in_executor(None, opening.result().close)


class Session(inspection.Figures):
    def __init__(
        self,
        uri: Optional[str] = None,
        *,
        on_event: Optional[EventFunction] = None,
        on_log: Optional[LogFunction] = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        self._uri = uri
        self._options: Mapping[str, Any] = options
        self._on_event = on_event
        self._on_log = on_log
        self._core: Optional[Core] = None
        self._loop: asyncio.AbstractEventLoop
        self._fd = -1
        self._passed_on: dict[Callable[..., object], Callable[..., None]] = {}

    def __repr__(self) -> str:
        is_open = self._core is not None and not self._core.closed
        return f"<leash.aio.Client {self.uri}{'' if is_open else ', not open'}>"

    @property
    def uri(self) -> str:
        """Where its locks live, without secrets; empty before it is open."""
        return self._core.uri if self._core is not None else ""

    def _in_loop(self, function: Optional[Callable[..., object]]) -> Any:
        """What a thread of leash calls in place of `function`; for one function it is the same each time."""
        if function is None:
            return None
        loop = self._loop

        def pass_on(*args: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(functools.partial(function, *args))

        return self._passed_on.setdefault(function, pass_on)

    async def open(self: S) -> S:
        if self._core is not None:
            return self
        self._loop = asyncio.get_running_loop()
        cancel = Handle(lib.leash_cancel_new, lib.leash_cancel_free)
        on_event, on_log = self._in_loop(self._on_event), self._in_loop(self._on_log)
        opening = self._loop.run_in_executor(None, Core, self._uri, self._options, on_event, on_log, cancel)
        try:
            core = await asyncio.shield(opening)
        except asyncio.CancelledError:
            lib.leash_cancel_fire(cancel)
            opening.add_done_callback(_close_if_open)
            raise
        fd = ctypes.c_int()
        call(lib.leash_client_fd, core, ctypes.byref(fd))
        self._core, self._fd = core, fd.value
        self._loop.add_reader(self._fd, self._dispatch)
        return self

    async def close(self) -> None:
        """Release what is held, and wake all who wait (Closed). Again it does nothing."""
        if self._core is None or self._core.closed:
            return
        self._loop.remove_reader(self._fd)
        await self._loop.run_in_executor(None, self._core.close)

    async def __aenter__(self: S) -> S:
        return await self.open()

    async def __aexit__(self, _type: object, _exception: Optional[BaseException], _at: object) -> None:
        await self.close()

    def _dispatch(self) -> None:
        try:
            dispatch(self._core)
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

    async def scan(self, pattern: Optional[str] = None) -> list[inspection.LockInfo]:
        """Every lock that is held in the deployment and whose name fits, as leash.Client.scan()."""
        return await self._in_thread(inspection.scan, self._core, pattern)
