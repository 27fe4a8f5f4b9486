"""Waits that Ctrl-C ends, as it ends a wait for a threading.Lock.

Python runs the handlers of signals in the main thread, between two of its instructions, so while that is in a call of
leash none runs, and Ctrl-C would do nothing until the wait is over. Short waits one after the other would lose the
place in the queue each time, and so would a cancel whenever a signal comes, since most handlers return and the wait
is to go on. So in the main thread a wait is done by a helper, a thread that is kept for the next one, and the main
thread waits for that in Python: a handler runs at once, and if it returns the wait goes on, at the same place. If it
raises (KeyboardInterrupt), the wait is canceled, its end awaited, what it got all the same is given back, and the
exception goes on.

leash knows the owner of a lock by its thread, and the helper is another one. So for the main thread each client has a
leash_owner, and each lock a second handle, for that (handle_of()). An owner acquires one thing at a time: a handler
that itself acquires a lock, while the main thread waits for another one, is refused (Invalid).

Other threads call leash directly; no handler runs in them.

What is left: an exception that strikes after the last instruction here, and before the caller's `with` has begun,
leaves the lock held. So it is with any lock that is not built into Python; the next release or the end of the client
ends it."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from typing import Any, Callable, Generic, Optional, Tuple, TypeVar

from .calls import Handle
from .errors import LeashError
from .native import lib

T = TypeVar("T")

Pair = Tuple[Handle, Handle]  # of threads, and of the main thread


def in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def handle_of(pair: Pair) -> Handle:
    """That by which this thread calls."""
    return pair[in_main_thread()]


class _Wait(Generic[T]):
    def __init__(self, do: Callable[[], T]) -> None:
        self._do: Optional[Callable[[], T]] = do
        self._is_over = threading.Lock()
        self._is_over.acquire()
        self.error: Optional[BaseException] = None
        self.result: T

    def run(self) -> None:
        do, self._do = self._do, None
        if do is None:  # it was run already
            return
        try:
            self.result = do()
        except BaseException as error:
            self.error = error
        self._is_over.release()

    def until_over(self) -> None:
        """May be interrupted, and called again then."""
        with self._is_over:
            pass


class _Helper:
    def __init__(self) -> None:
        self.cancel = Handle(lib.leash_cancel_new, lib.leash_cancel_free)
        self.waits: queue.SimpleQueue[_Wait[Any]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="leash-wait", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.waits.get().run()


_idle: list[_Helper] = []
os.register_at_fork(after_in_child=_idle.clear)  # the child has none of the threads


def run(do: Callable[[Optional[Handle]], T], undo: Callable[[T], object]) -> T:
    """`do` with a leash_cancel that ends it, or None: nothing is to. `undo` takes the result that came all the same."""
    if not in_main_thread():
        return do(None)
    try:
        helper = _idle.pop() if _idle else _Helper()
    except RuntimeError:  # at the exit of the interpreter there are no new threads
        return do(None)
    lib.leash_cancel_reset(helper.cancel)
    wait = _Wait(lambda: do(helper.cancel))
    interruption: Optional[BaseException] = None
    while True:
        try:
            helper.waits.put(wait)  # again after an interruption, which may have come before it: it is run once
            wait.until_over()
            break
        except BaseException as exception:
            interruption = interruption or exception
            lib.leash_cancel_fire(helper.cancel)
    _idle.append(helper)
    if interruption is not None:
        if wait.error is None:
            with contextlib.suppress(LeashError):
                undo(wait.result)
        raise interruption
    if wait.error is not None:
        try:
            raise wait.error
        finally:
            del wait  # which the traceback would lead to
    return wait.result
