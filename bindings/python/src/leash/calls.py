"""How the library is called, and when what it made is freed.

A Handle is a pointer of leash's, and its finalizer frees what that leads to. Python runs it once nothing refers to
the Handle, and ctypes refers to the arguments of a call until that has returned. So nothing is freed while a call
uses it, on whatever thread. A free function of leash talks to nobody and may be called from its callbacks, as the
garbage collector does when it runs there. None is called at the exit of the interpreter, where a daemon thread may be
in a call still."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Callable, Optional

from . import errors, structs


def call(function: Callable[..., int], *args: Any) -> None:
    """Call one whose last parameter is a leash_error, and raise what it answers unless that is OK."""
    error = structs.Error()
    if function(*args, ctypes.byref(error)) != 0:
        raise errors.made(error)


def _free(function: Callable[[int], None], pointer: int, _needed: object) -> None:
    function(pointer)


class Handle:
    """What `make` puts into the first of its parameters; to be freed by `free`, and before all of `needs`."""

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
