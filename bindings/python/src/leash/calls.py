"""How the library is called, and when what it made is freed.

A Handle is a pointer of leash, and its finalizer frees what it points to. Python runs the finalizer when nothing refers
to the Handle any more, and ctypes refers to the arguments of a call until the call has returned. So nothing is freed
while a call uses it, on any thread. A free function of leash sends nothing and may be called from its callbacks, as the
garbage collector does when it runs there. None is called at the exit of the interpreter, when a daemon thread may still
be in a call."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Callable, Optional

from . import errors, structs


def call(function: Callable[..., int], *args: Any) -> None:
    """Call a function whose last parameter is a leash_error, and raise its status unless that is OK."""
    error = structs.Error()
    if function(*args, ctypes.byref(error)) != 0:
        raise errors.made(error)


def _free(function: Callable[[int], None], pointer: int, _needed: object) -> None:
    function(pointer)


class Handle:
    """What `make` puts into its first parameter. It is freed by `free`, before all of `needs`."""

    __slots__ = ("_as_parameter_", "is_shared", "locks", "owner", "__weakref__")

    is_shared: bool  # its owner has another handle, too
    locks: tuple[Handle, ...]  # of a set
    owner: Optional[Handle]  # of a lock

    def __init__(self, make: Callable[..., int], free: Callable[[int], None], *args: Any, needs: object = None) -> None:
        out = ctypes.c_void_p()
        call(make, ctypes.byref(out), *args)
        assert out.value is not None
        self._as_parameter_ = out.value
        self.is_shared = False
        weakref.finalize(self, _free, free, out.value, needs).atexit = False
