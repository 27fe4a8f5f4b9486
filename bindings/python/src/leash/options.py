"""The options of clients and locks for type checkers: the fields of leash_options and leash_lock_options.

Times are in seconds, and their names lose the `_ms`. Zero, None and an option that is left out mean the default.
leash/client.h and leash/lock_options.h say what each does and which of them exclude each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Optional, TypedDict

if TYPE_CHECKING:
    from .events import EventFunction, LogFunction

Mode = Literal["mutex", "read", "write", "redisson"]


class ClientFields(TypedDict, total=False):
    lease: float  #: for locks that set none; default 30
    timeout: float  #: to connect, and for one answer; default 1
    prefix: str  #: of all keys and channels; default "leash"
    client_name: str  #: in CLIENT LIST after "leash:"
    fence_ttl: float  #: how long the server keeps a lock's last fence; default 3600
    open_wait: float  #: how long to retry while the server is away; default 0; math.inf: no limit


class ClientOptions(ClientFields, total=False):
    on_event: Optional[EventFunction]
    on_log: Optional[LogFunction]


class LockFields(TypedDict, total=False):
    lease: float  #: default: the client's
    max_hold: float  #: the lease ends at most this long after the acquire
    alive: float  #: call alive() at least this often, or the lock lapses
    restart_guard: float  #: after a restart of the server acquire nothing for this long; a quorum needs it
    no_renew: bool  #: let the lease run out instead of renewing it
    fair: bool  #: all wait in one order, over all processes
    no_handoff: bool  #: never hand the lock to a thread of this process without asking Redis
    fsynced: bool  #: nothing counts before it is on disk
    mode: Mode  #: "read" or "write", of a read-write lock; "redisson": shared with Java; default "mutex"
    handoffs: int  #: how many times in a row the lock passes within the process; default 64
    handoff: float  #: and for how long in a row; default 0.01
    min_replicas: int  #: nothing counts before this many replicas have acknowledged it
    replicas: float  #: how long to wait for the replicas
    group: str  #: its times are also counted under this name
    release_nowait: bool  #: a release does not wait for the server; a failure becomes an event


class LockOptions(LockFields, total=False):
    on_event: Optional[EventFunction]  #: for this lock in place of the client's
    wait: Optional[float]  #: how long `with` waits; default: no limit


class ConditionOptions(TypedDict, total=False):
    recheck: float  #: a wait ends after this long, as if notified; default: the lease of the lock
    reacquire: float  #: after the wait, how long to wait for the lock; default: no limit
