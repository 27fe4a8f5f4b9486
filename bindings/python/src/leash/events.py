"""What leash reports by itself: events of a hold or of the client, and log lines.

leash makes these calls on the client's courier thread, one at a time; ctypes takes the GIL for them. This module has
two functions for C, which are never freed. A number tells them which Python function is meant. That function is kept
until its client is closed; leash does not call it later.

An exception in a callback does not reach C: ctypes passes it to sys.unraisablehook."""

from __future__ import annotations

import ctypes
import itertools
import threading
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional

from . import structs
from .native import EVENT, LOG, lib


@dataclass(frozen=True)
class Event:
    #: "JEOPARDY", "RECOVERED", "LOST", "ABANDONED", "CLOCK_JUMP", "FENCE_REGRESSION", "NOT_RELEASED"; see leash/event.h
    type: str
    lock: Optional[str]  #: its name; None: an event of the client
    fence: int
    remaining: float  #: seconds that were left of the lease
    text: str  #: why, in one line


EventFunction = Callable[[Event], object]
LogFunction = Callable[[str, str], object]  # "error", "warning", "info" or "debug", and the line
PassOn = Callable[[Callable[..., object]], Callable[..., object]]

_LEVELS = ("", "error", "warning", "info", "debug")  # enum leash_log_level

_functions: dict[int, Callable[..., object]] = {}
_numbers = itertools.count(1)
_thread = threading.local()


def in_callback() -> bool:
    return getattr(_thread, "in_callback", False)


def _call(number: int, *args: Any) -> None:
    function = _functions.get(number)
    if function is None:
        return
    _thread.in_callback = True
    try:
        function(*args)
    finally:
        _thread.in_callback = False


def _event(number: int, address: int) -> None:
    event = structs.Event.from_address(address)
    lock = structs.string(event.lock) if event.lock is not None else None
    kind = lib.leash_event_name(event.type).decode()
    _call(number, Event(kind, lock, event.fence, event.remaining_ms / 1000, structs.string(event.text)))


def _log(number: int, level: int, line: bytes) -> None:
    _call(number, _LEVELS[level] if level < len(_LEVELS) else str(level), structs.string(line))


_entries = {"on_event": EVENT(_event), "on_log": LOG(_log)}


class Callbacks:
    """The functions of one client and its locks."""

    def __init__(self, pass_on: PassOn) -> None:
        self._pass_on = pass_on
        self._known: dict[Callable[..., object], int] = {}

    def _number(self, function: Callable[..., object]) -> int:
        number = self._known.setdefault(function, next(_numbers))
        if number not in _functions:
            _functions[number] = self._pass_on(function)
        return number

    def fields(self, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options without the functions, and the fields through which leash calls these functions."""
        others, found = dict(options), {}
        for option in set(_entries).intersection(options):
            function = others.pop(option)
            if function is not None:
                found[option] = ctypes.cast(_entries[option], ctypes.c_void_p).value
                found[f"{option[len('on_'):]}_arg"] = self._number(function)
        return others, found

    def forget(self) -> None:
        for number in self._known.values():
            _functions.pop(number, None)
