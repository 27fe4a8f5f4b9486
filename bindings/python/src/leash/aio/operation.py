"""Operations of leash that asyncio awaits.

An Operation is a future that leash completes: leash_client_dispatch() calls _told() with the number of the operation
that has ended, on the thread of the loop; or leash_close() does, on the thread that closes. Until then the Operation
refers to everything that leash was given, so that no handle is freed before.

Canceling a task cancels what it awaits. An Operation does not end at once then: it asks leash to end the acquire, and
is done when leash reports how that ended. So a task gets its cancellation when nothing of its acquire is under way any
more; what was acquired anyway is given back before. leash_op_cancel() must not be called for an operation whose end was
reported, and a thread that closes may report it at any moment: hence the mutex.

Ctrl-C may raise in _told() itself, where the exception cannot pass through C. It is kept and raised after the
dispatch."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
import threading
from typing import Any, Callable, Coroutine, Optional

from .. import errors, structs
from ..calls import call
from ..errors import LeashError
from ..native import DONE, lib

Nothing = Coroutine[Any, Any, None]  # session.N of tasks

_under_way: dict[int, Operation] = {}
_numbers = itertools.count(1)
_mutex = threading.RLock()
_interruptions: list[BaseException] = []


class Operation(asyncio.Future["Optional[LeashError]"]):
    """It begins when it is made, and raises if the start is refused. Its result is the error, or None."""

    def __init__(self, loop: asyncio.AbstractEventLoop, start: Callable[..., int], *args: Any) -> None:
        super().__init__(loop=loop)
        self._args = args
        self._op: Optional[ctypes.c_void_p] = ctypes.c_void_p()
        self.cancellation: Optional[asyncio.CancelledError] = None
        number = next(_numbers)
        _under_way[number] = self
        try:
            call(start, *args, _done, number, ctypes.byref(self._op))
        except LeashError:
            del _under_way[number]
            raise

    def cancel(self, msg: Optional[Any] = None) -> bool:
        if self.done():
            return False
        self.cancellation = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        with _mutex:
            if self._op is not None:
                lib.leash_op_cancel(self._op)
        return True

    def end(self, error: Optional[LeashError]) -> None:
        """Its end was reported."""
        with _mutex:
            self._op = None
        try:
            here: Optional[asyncio.AbstractEventLoop] = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self.get_loop():
            self._finish(error)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody awaits anything
                self.get_loop().call_soon_threadsafe(self._finish, error)

    def _finish(self, error: Optional[LeashError]) -> None:
        if not self.done():
            self.set_result(error)

    async def ended(self) -> Optional[LeashError]:
        while not self.done():
            try:
                await self
            except asyncio.CancelledError as cancellation:  # which came when it was done, or not by way of the future
                self.cancel()
                self.cancellation = cancellation
        return self.result()


def _tell(number: int, status: int, address: Optional[int]) -> None:
    operation = _under_way.get(number)
    if operation is None:
        return
    operation.end(errors.made(structs.Error.from_address(address)) if status != 0 else None)
    _under_way.pop(number, None)


def _told(number: int, status: int, address: Optional[int]) -> None:
    try:
        _tell(number, status, address)
    except BaseException as interruption:
        _tell(number, status, address)
        _interruptions.append(interruption)


_done = DONE(_told)


def dispatch(client: Any) -> None:
    call(lib.leash_client_dispatch, client)
    if _interruptions:
        raise _interruptions.pop()


async def run(
    loop: asyncio.AbstractEventLoop,
    start: Callable[..., int],
    *args: Any,
    undo: Optional[Callable[[], Nothing]] = None,
) -> None:
    """Run an operation to its end; raises its error. If it is canceled but was done anyway, it calls `undo`."""
    operation = Operation(loop, start, *args)
    error = await operation.ended()
    if operation.cancellation is not None:
        if error is None and undo is not None:
            with contextlib.suppress(LeashError):
                await undo()
        raise operation.cancellation
    if error is not None:
        raise error
