"""Operations of leash that asyncio awaits.

An Operation is a future that ends with an operation of leash. leash_client_next() returns the ends one by one, on the
thread of the loop, and calls nothing. So an exception of a signal handler (Ctrl-C) loses none: an end stays where
leash has put it until it was passed on, and the descriptor stays readable.

Until its end, the Operation refers to everything that leash was given, so that nothing is freed before.

Canceling a task cancels what it awaits. An Operation does not end at once then: it asks leash to end the acquire, and
is done when leash reports how that ended. So a task gets its cancellation when nothing of its acquire is under way any
more; what was acquired anyway is given back before."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
from typing import Any, Callable, Coroutine, Optional

from .. import errors, structs
from ..calls import call
from ..core import Core
from ..errors import Closed, LeashError
from ..native import lib

Nothing = Coroutine[Any, Any, None]  # session.N of tasks

_under_way: dict[int, Operation] = {}
_numbers = itertools.count(1)


def _closed() -> LeashError:
    return Closed("client: it was closed")


class Operation(asyncio.Future["Optional[LeashError]"]):
    """It begins when it is made, and raises if the start is refused. Its result is the error, or None."""

    def __init__(self, of: Operations, start: Callable[..., int], *args: Any) -> None:
        super().__init__(loop=of.loop)
        self.of = of
        self._args: tuple[Any, ...] = args
        self.op = ctypes.c_void_p()
        self.cancellation: Optional[asyncio.CancelledError] = None
        of.begin(self, start, *args)

    def cancel(self, msg: Optional[Any] = None) -> bool:
        if self.done():
            return False
        self.cancellation = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        self.of.cancel(self)
        return True

    def end(self, error: Optional[LeashError]) -> None:
        """It has ended. This may be called again."""
        self.op.value = None
        self._args = ()
        with contextlib.suppress(asyncio.InvalidStateError):  # also if a signal handler comes between
            self.set_result(error)

    async def ended(self) -> Optional[LeashError]:
        while not self.done():
            try:
                await self
            except asyncio.CancelledError as cancellation:  # which came when it was done, or not by way of the future
                self.cancel()
                self.cancellation = cancellation
        return self.result()


class Operations:
    """Those of a client."""

    def __init__(self, core: Core, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._core = core
        self._number = ctypes.c_void_p()  # of the one whose end leash has returned, which is not passed on so far
        self._end = structs.Error()
        self._is_closed = False

    def begin(self, operation: Operation, start: Callable[..., int], *args: Any) -> None:
        number = next(_numbers)
        _under_way[number] = operation
        try:
            call(start, *args, None, number, ctypes.byref(operation.op))
        except BaseException:
            if operation.op.value is None:  # it has not begun
                del _under_way[number]
            raise

    def _pass_on(self) -> None:
        number = self._number.value
        if number is None:
            return
        operation = _under_way.get(number)
        if operation is not None:
            operation.end(errors.made(self._end) if self._end.status != 0 else None)
            _under_way.pop(number, None)
        self._number.value = None

    def dispatch(self) -> None:
        """What leash_client_dispatch() is in C."""
        self._pass_on()
        more = True
        while more:
            call(lib.leash_client_next, self._core, ctypes.byref(self._number), ctypes.byref(self._end))
            more = self._number.value is not None
            self._pass_on()

    def cancel(self, operation: Operation) -> None:
        self._pass_on()
        self._core.if_open(lib.leash_op_cancel, operation.op)  # NULL, if it has ended
        if self._is_closed:
            operation.end(_closed())

    def close(self) -> None:
        """The client was closed."""
        self._is_closed = True
        for number, operation in list(_under_way.items()):
            if operation.of is self:
                operation.end(_closed())
                del _under_way[number]


async def run(
    of: Operations,
    start: Callable[..., int],
    *args: Any,
    undo: Optional[Callable[[], Nothing]] = None,
) -> None:
    """Run an operation to its end; raises its error. If it is canceled but was done anyway, it calls `undo`."""
    operation = Operation(of, start, *args)
    error = await operation.ended()
    if operation.cancellation is not None:
        if error is None and undo is not None:
            with contextlib.suppress(LeashError):
                await undo()
        raise operation.cancellation
    if error is not None:
        raise error
