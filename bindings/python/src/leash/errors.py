"""A class of exceptions for each status of leash.h except OK. One with a counterpart in Python is
also a subclass of that counterpart.

`status` of a class is its name in C without the prefix ("NOT_HELD"). The names and numbers come from
the library, so a status that a later version adds gets a class of its own."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar, Optional

from .native import lib


class LeashError(Exception):
    """What a call of leash raises if its status is not OK. str() is one line that names the lock and the server."""

    status: ClassVar[str] = ""
    sys_errno: int  #: the system's error behind it, or 0

    def __init__(self, text: str = "", sys_errno: int = 0) -> None:
        super().__init__(text)
        self.sys_errno = sys_errno


class Timeout(LeashError, TimeoutError): ...


class Lost(LeashError): ...


class NotHeld(LeashError): ...


class Canceled(LeashError): ...


class Unavailable(LeashError, ConnectionError): ...


class Unknown(LeashError): ...


class Invalid(LeashError, ValueError): ...


class NoMemory(LeashError, MemoryError): ...


class Denied(LeashError, PermissionError): ...


class Mismatch(LeashError): ...


class Forked(LeashError): ...


class InCallback(LeashError): ...


class Closed(LeashError): ...


class Protocol(LeashError): ...


class Unsupported(LeashError): ...


class Deadlock(LeashError): ...


def _classes() -> dict[int, type[LeashError]]:
    classes: dict[int, type[LeashError]] = {}
    for number in itertools.count(1):
        name = lib.leash_status_name(number).decode()
        if name == "?":
            break
        own = "".join(word.capitalize() for word in name.split("_"))
        made: type[LeashError] = globals().get(own) or type(own, (LeashError,), {"__module__": __name__})
        made.status = name
        made.__doc__ = lib.leash_status_text(number).decode()
        classes[number] = made
    return classes


classes = _classes()


def behind(exception: Optional[BaseException], failure: LeashError) -> None:
    """Raise the failure; if another exception is propagating, it becomes a note of that (Python 3.11)."""
    if exception is None:
        raise failure
    if hasattr(exception, "add_note"):
        exception.add_note(f"{type(failure).__name__}: {failure}")


def made(error: Any) -> LeashError:
    """The exception for a leash_error."""
    return classes.get(error.status, LeashError)(error.text.decode("utf-8", "replace"), error.sys_errno)
