"""Waits that Ctrl-C ends, as it ends a wait for a threading.Lock.

Python runs signal handlers in the main thread, between two of its instructions. During a call of leash none runs, so
Ctrl-C would do nothing until the wait is over. A series of short waits would lose the place in the queue each time, and
so would a cancel at each signal, since most handlers return and the wait must then continue. So a helper thread, which
is kept for the next wait, waits for the main thread, and the main thread waits for the helper in Python. A handler runs
at once, and if it returns, the wait continues at the same place. If it raises (KeyboardInterrupt), the wait is
canceled, the main thread waits for its end, what was acquired anyway is given back, and the exception is raised.

The owner of a lock is a thread to leash, and the helper is another thread. So each client has a leash_owner for the
main thread, and each lock has a second handle for it (handle_of()). An owner acquires one thing at a time: a handler
that acquires a lock while the main thread waits for another one is refused (Invalid).

Other threads call leash directly; no handler runs in them.

Gaps remain, as with any lock that is not built into Python. An exception after the wait is over, and before the
caller's `with` has begun, leaves the lock held; so does one at the end of the `with`, before the release has begun. The
next release or the end of the client ends that. Two signals at once are provided for here; three may leave the wait
behind."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
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
    """The handle by which this thread calls."""
    return pair[in_main_thread()]


class Cancel(Handle):
    __slots__ = ("fired",)

    def __init__(self) -> None:
        super().__init__(lib.leash_cancel_new, lib.leash_cancel_free)
        self.fired = False

    def fire(self) -> None:
        self.fired = True
        lib.leash_cancel_fire(self)

    def reset(self) -> None:
        self.fired = False
        lib.leash_cancel_reset(self)


class _Wait(Generic[T]):
    def __init__(self, do: Callable[[Cancel], T]) -> None:
        self._do: Optional[Callable[[Cancel], T]] = do
        self._end = threading.Lock()
        self._end.acquire()
        self.is_over = False
        self.error: Optional[BaseException] = None
        self.result: T

    def run(self, cancel: Cancel) -> None:
        do, self._do = self._do, None
        if do is None:  # it was run already
            return
        try:
            self.result = do(cancel)
        except BaseException as error:
            self.error = error
        self.is_over = True
        self._end.release()

    def until_over(self) -> None:
        """May be interrupted, and may then be called again."""
        while not self.is_over:
            self._end.acquire()


class _Helper:
    def __init__(self) -> None:
        self.cancel = Cancel()
        self.waits: queue.SimpleQueue[_Wait[Any]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="leash-wait", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.waits.get().run(self.cancel)

    def wait(self, wait: _Wait[Any]) -> None:
        """May be interrupted, and may then be called again: the wait is run once."""
        self.waits.put(wait)
        wait.until_over()

    def end(self, wait: _Wait[Any]) -> None:
        """Cancel the wait, and wait for its end, even if this is interrupted."""
        try:
            self.cancel.fire()
            self.wait(wait)
        finally:
            if not wait.is_over:
                self.end(wait)


_idle: list[_Helper] = []
os.register_at_fork(after_in_child=_idle.clear)  # the child has none of the threads


def run(do: Callable[[Optional[Cancel]], T], undo: Callable[[T], object] = lambda _: None) -> T:
    """Run `do` with a leash_cancel that ends it, or with None. `undo` takes the result of one that succeeded anyway."""
    if not in_main_thread() or sys.is_finalizing():  # when no other thread runs any more
        return do(None)
    wait = _Wait(do)
    try:
        helper = _idle.pop() if _idle else _Helper()
    except RuntimeError:  # at the exit of the interpreter there are no new threads
        return do(None)
    interruption: Optional[BaseException] = None
    try:
        try:
            helper.wait(wait)
        except BaseException as exception:
            interruption = exception
            helper.end(wait)
    except BaseException as exception:  # of another signal, perhaps before end() has done anything
        interruption = exception
        helper.end(wait)
    if interruption is not None:
        helper.cancel.reset()
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
