"""What the server knows about a lock, and what a client has done: see leash/inspect.h. Times are in seconds."""

from __future__ import annotations

import ctypes
import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Callable, Optional, TypeVar

from . import structs, waits
from .calls import Handle, call
from .native import VISIT, WRITE, lib

TIMES = ("wait", "hold", "left", "round_trip")  # enum leash_time
KINDS = ("none", "mutex", "read-write", "semaphore", "condition", "latch", "barrier")  # enum leash_kind

T = TypeVar("T")


@dataclass(frozen=True)
class Party:
    """Who a client is, as it reported itself."""

    token: str
    host: str
    program: str
    pid: int
    since: float  #: when it was opened, by its own clock, since 1970


@dataclass(frozen=True)
class LockInfo:
    name: str
    holder: Optional[Party]  #: of several whose lease ends last
    fence: int
    held_since: float  #: by the server's clock, since 1970
    remaining: float  #: math.inf: no end, so not made by leash
    depth: int
    waiting: int
    held: bool
    no_queue: bool
    kind: str  #: one of KINDS
    out: int
    count: int
    permits: int
    limit: int


@dataclass(frozen=True)
class HoldInfo:
    who: Party
    count: int
    limit: int
    remaining: float


@dataclass(frozen=True)
class WaiterInfo:
    who: Party
    waiting_since: float
    position: int
    count: int
    limit: int


@dataclass(frozen=True)
class Leader:
    """The holder of a lock leads."""

    token: str
    fence: int  #: 0: not known
    remaining: float  #: of its lease, if not renewed; math.inf: no end, so not made by leash
    value: str  #: what it proclaimed; empty: nothing so far


@dataclass(frozen=True)
class Stats:
    acquired: int
    handed_on: int
    waited: int
    released: int
    lost: int
    abandoned: int
    renewed: int
    renewals_failed: int
    gave_up: int
    commands: int
    connects: int
    holding: int
    waiting: int
    server_ahead: float
    connected: bool
    listening: bool


@dataclass(frozen=True)
class Times:
    """A distribution, in seconds."""

    count: int
    sum: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float


def _value(struct: Any, name: str) -> Any:
    if name == "kind":
        return KINDS[struct.kind] if struct.kind < len(KINDS) else str(struct.kind)
    if name == "remaining" and struct.remaining_ms == -1:
        return math.inf
    if hasattr(struct, name + "_ms"):
        return getattr(struct, name + "_ms") / 1000
    if hasattr(struct, name + "_ns"):
        return getattr(struct, name + "_ns") / 1e9
    value = getattr(struct, name)
    if isinstance(value, bytes):
        return structs.string(value)
    if isinstance(value, structs.Party):
        return _read(Party, value) if value.token else None
    return value


def _read(cls: Callable[..., T], struct: Any) -> T:
    names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    return cls(**{name: _value(struct, name) for name in names})


def _collect(cls: Callable[..., T], struct: Any, function: Callable[..., int], *args: Any) -> list[T]:
    """What `function` passes to its visitor, which is its last parameter but two.

    The visitor is called from C, through which no exception can pass. So it must not run in the main thread."""

    def collect(cancel: Optional[waits.Cancel]) -> list[T]:
        found: list[T] = []

        def visit(_arg: int, address: int) -> bool:
            found.append(_read(cls, struct.from_address(address)))
            return cancel is None or not cancel.fired

        call(function, *args, VISIT(visit), None)
        return found

    return waits.run(collect)


def inspect(function: Callable[..., int], handle: Handle) -> LockInfo:
    """`function` is also the one for holders."""
    info = structs.make(structs.LockInfo)
    call(function, handle, ctypes.byref(info), None, None)
    return _read(LockInfo, info)


def holders(function: Callable[..., int], handle: Handle) -> list[HoldInfo]:
    info = structs.make(structs.LockInfo)
    return _collect(HoldInfo, structs.HoldInfo, function, handle, ctypes.byref(info))


def waiters(function: Callable[..., int], handle: Handle) -> list[WaiterInfo]:
    return _collect(WaiterInfo, structs.WaiterInfo, function, handle)


def scan(client: Any, pattern: Optional[str]) -> list[LockInfo]:
    given = structs.text(pattern) if pattern is not None else None
    return _collect(LockInfo, structs.LockInfo, lib.leash_client_scan, client, given)


def arrived(latch: Handle) -> int:
    found = ctypes.c_int64()
    call(lib.leash_latch_arrived, latch, ctypes.byref(found))
    return found.value


def leader(struct: Any) -> Optional[Leader]:
    return _read(Leader, struct) if struct.leads else None


def stats(client: Any) -> Stats:
    filled = structs.make(structs.Stats)
    call(lib.leash_client_stats, client, ctypes.byref(filled))
    return _read(Stats, filled)


def times(client: Any, which: str, group: Optional[str]) -> Times:
    if which not in TIMES:
        raise ValueError(f"{which!r} is none of {', '.join(TIMES)}")
    given = structs.text(group) if group is not None else None
    filled = structs.make(structs.Times)
    call(lib.leash_client_times, client, given, TIMES.index(which), ctypes.byref(filled))
    return _read(Times, filled)


def metrics(client: Any) -> str:
    def collect(_cancel: object) -> str:
        written: list[bytes] = []

        def write(_arg: int, address: int, size: int) -> bool:
            written.append(ctypes.string_at(address, size))
            return True

        pointers = (ctypes.c_void_p * 1)(client._as_parameter_)
        call(lib.leash_metrics_write, pointers, 1, WRITE(write), None)
        return structs.string(b"".join(written))

    return waits.run(collect)
