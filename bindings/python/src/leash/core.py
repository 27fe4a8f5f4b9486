"""An open leash_client: what the blocking Client and that of asyncio have in common.

It is closed once: by close(), at the exit of the interpreter, or when Python collects it. In the last case a separate
thread closes it, since closing may take as long as the server is silent, and Python may collect anywhere, even in a
callback of this client. It must be closed at the exit; otherwise the courier could call into an interpreter that no
longer exists.

leash_close() drops the client, so no call may use it during or after that, unless a handle of it exists. A call of
another thread must meet LEASH_CLOSED, not freed memory. So each Core has a lock that nobody acquires: its handle keeps
the client's memory as long as anything refers to the Core, including a call under way.

In a forked child everything of its parent raises Forked; closing it there sends nothing."""

from __future__ import annotations

import _thread
import atexit
import ctypes
import os
import threading
import warnings
import weakref
from typing import Any, Callable, Mapping, Optional

from . import errors, events, structs
from .calls import Handle, call
from .native import lib

_ANCHOR = "the client itself, in Python"
_LONGEST_LEASE = 86400  # with that as a guard a quorum makes handles of any lease

_open: weakref.WeakSet[Core] = weakref.WeakSet()  # until they are closed
_closing: dict[int, _thread.LockType] = {}  # by threads of their own; what is locked is not closed so far


def _forked() -> None:
    _closing.clear()  # those threads are the parent's
    for core in list(_open):
        core.forked()


os.register_at_fork(after_in_child=_forked)


def _close(pointer: int, callbacks: events.Callbacks, _anchor: Optional[Handle]) -> None:
    lib.leash_close(pointer)
    callbacks.forget()
    over = _closing.pop(pointer, None)
    if over is not None:
        over.release()


def _forgotten(pointer: int, callbacks: events.Callbacks, anchor: Handle, uri: str) -> None:
    _closing[pointer] = over = _thread.allocate_lock()
    over.acquire()
    try:  # not threading.Thread, whose mutex may be locked by whatever this interrupts
        _thread.start_new_thread(_close, (pointer, callbacks, anchor))
    except RuntimeError:  # the interpreter is about to exit
        _close(pointer, callbacks, anchor)
    warnings.warn(f"a client of leash was not closed: {uri}", ResourceWarning, stacklevel=2)


class Core:
    def __init__(
        self,
        uri: Optional[str],
        options: Mapping[str, Any],
        cancel: Optional[Handle] = None,
        pass_on: events.PassOn = lambda function: function,
    ) -> None:
        """`pass_on` makes the function that leash calls in place of a function of the program."""
        self._mutex = threading.RLock()
        self._is_over = threading.Event()
        self._closer = 0  # the thread that closes it, or has
        self._callbacks = events.Callbacks(pass_on)
        others, fields = self._callbacks.fields({"uri": uri, **options})
        given = structs.make(structs.Options, others, **fields)
        given.open_cancel = cancel._as_parameter_ if cancel is not None else None
        out = ctypes.c_void_p()
        try:
            call(lib.leash_open, ctypes.byref(out), ctypes.byref(given))
        except BaseException:
            self._callbacks.forget()
            raise
        pointer = out.value
        assert pointer is not None
        self._as_parameter_ = pointer
        self.uri = structs.string(lib.leash_client_uri(pointer))
        try:
            self._anchor = self.lock(_ANCHOR, {"restart_guard": _LONGEST_LEASE})
        except BaseException:
            _close(pointer, self._callbacks, None)
            raise
        self._finalizer = weakref.finalize(self, _forgotten, pointer, self._callbacks, self._anchor, self.uri)
        self._finalizer.atexit = False
        _open.add(self)

    @property
    def closed(self) -> bool:
        return self._closer != 0 or not self._finalizer.alive

    def if_open(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function that does not wait, before any other thread begins to close."""
        with self._mutex:
            if not self.closed:
                function(*args)

    def close(self) -> None:
        """Whoever calls it, the client is closed when it returns; but a signal handler may interrupt who closes."""
        if events.in_callback():
            raise errors.InCallback("client: a callback of leash must not close it")
        with self._mutex:
            self._closer = self._closer or threading.get_ident()
        if self._closer != threading.get_ident():
            self._is_over.wait()
            return
        try:
            if self._finalizer.detach() is not None:
                _close(self._as_parameter_, self._callbacks, self._anchor)
        finally:
            self._is_over.set()
            _open.discard(self)

    def forked(self) -> None:
        """In the child: whatever another thread of the parent was about to do here has not come along."""
        self._mutex, self._is_over = threading.RLock(), threading.Event()
        if self._closer != 0:
            self._is_over.set()

    def _options(self, options: Mapping[str, Any]) -> Any:
        others, fields = self._callbacks.fields(options)
        others.pop("wait", None)
        return structs.make(structs.LockOptions, others, **fields)

    def lock(self, name: str, options: Mapping[str, Any], owner: Optional[Handle] = None) -> Handle:
        """A handle; `owner` is the calling thread if it is None."""
        given = self._options(options)
        given.owner = owner._as_parameter_ if owner is not None else None
        made = Handle(
            lib.leash_lock_new, lib.leash_lock_free, self, structs.text(name), ctypes.byref(given), needs=owner
        )
        made.owner = owner
        return made

    def semaphore(self, name: str, limit: int, options: Mapping[str, Any]) -> Handle:
        given = ctypes.byref(self._options(options))
        return Handle(lib.leash_semaphore_new, lib.leash_semaphore_free, self, structs.text(name), limit, given)


@atexit.register
def _close_all() -> None:
    for core in list(_open):
        core.close()
    for over in list(_closing.values()):
        over.acquire()
