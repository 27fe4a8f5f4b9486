"""The shared library: where it is, and what its calls take and return. No other module knows a C type.

The library is $LEASH_LIBRARY, or else libleash.so.0 where the dynamic linker finds it."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import types
from typing import Any

_SONAME = "libleash.so.0"


class Field(ctypes.Structure):
    """leash_field: the one struct whose layout is written here, as it says the layout of all others."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("offset", ctypes.c_size_t),
        ("size", ctypes.c_size_t),
        ("type", ctypes.c_int),
    ]


EVENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
VISIT = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
WRITE = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

_TYPES: dict[str, Any] = {
    "-": None,
    "b": ctypes.c_bool,
    "d": ctypes.c_uint,
    "e": ctypes.c_int,  # a leash_status, or another enum
    "f": ctypes.POINTER(Field),
    "i": ctypes.c_int64,
    "n": ctypes.c_size_t,
    "p": ctypes.c_void_p,
    "t": ctypes.c_char_p,
    "u": ctypes.c_uint64,
}

# A call, its result, its parameters.
_CALLS = """
    leash_version t
    leash_status_name t e
    leash_status_text t e
    leash_event_name t e
    leash_struct_fields f tp

    leash_open e ppp
    leash_close - p
    leash_client_uri t p
    leash_client_stats e ppp
    leash_client_scan e ptppp
    leash_client_times e ptepp
    leash_metrics_write e pnppp
    leash_client_fd e ppp
    leash_client_next e pppp

    leash_owner_new e pp
    leash_owner_free - p
    leash_cancel_new e pp
    leash_cancel_fire - p
    leash_cancel_reset - p
    leash_cancel_free - p

    leash_lock_new e pptpp
    leash_lock_free - p
    leash_lock_acquire_with e ppp
    leash_lock_release e pp
    leash_lock_extend e pip
    leash_lock_upgrade e pp
    leash_lock_adopt e ptp
    leash_lock_proclaim e ptp
    leash_lock_break e pp
    leash_lock_alive - p
    leash_lock_held b p
    leash_lock_remaining_ms i p
    leash_lock_depth d p
    leash_lock_fence u p
    leash_lock_token n ppn
    leash_lock_holders e ppppp
    leash_lock_waiters e pppp

    leash_multi_new e ppnp
    leash_multi_free - p
    leash_multi_acquire_with e ppp
    leash_multi_release e pp
    leash_multi_held b p
    leash_multi_remaining_ms i p

    leash_semaphore_new e pptipp
    leash_semaphore_free - p
    leash_semaphore_acquire_with e pippp
    leash_semaphore_adopt e pitpp
    leash_semaphore_inspect e ppppp
    leash_semaphore_waiters e pppp
    leash_semaphore_limit e piip
    leash_semaphore_break e pp
    leash_permit_release e pp
    leash_permit_release_some e pip
    leash_permit_extend e pip
    leash_permit_count i p
    leash_permit_held b p
    leash_permit_remaining_ms i p
    leash_permit_token n ppn
    leash_permit_alive - p

    leash_condition_new e pptpp
    leash_condition_free - p
    leash_condition_wait_with e ppp
    leash_condition_signal e pp
    leash_condition_broadcast e pp

    leash_latch_new e pptip
    leash_latch_free - p
    leash_latch_count_down e ptp
    leash_latch_await_with e ppp
    leash_latch_arrived e ppp
    leash_latch_break e pp
    leash_barrier_new e pptip
    leash_barrier_free - p
    leash_barrier_wait_with e ppp

    leash_watch_new e pptp
    leash_watch_free - p
    leash_watch_next_with e pppp

    leash_lock_acquire_start e pppppp
    leash_lock_release_start e ppppp
    leash_lock_extend_start e pipppp
    leash_lock_upgrade_start e ppppp
    leash_lock_adopt_start e ptpppp
    leash_lock_proclaim_start e ptpppp
    leash_multi_acquire_start e pppppp
    leash_multi_release_start e ppppp
    leash_semaphore_acquire_start e pipppppp
    leash_semaphore_adopt_start e pitppppp
    leash_permit_release_start e ppppp
    leash_permit_release_some_start e pipppp
    leash_permit_extend_start e pipppp
    leash_condition_wait_start e pppppp
    leash_condition_signal_start e ppppp
    leash_condition_broadcast_start e ppppp
    leash_latch_count_down_start e ptpppp
    leash_latch_await_start e pppppp
    leash_barrier_wait_start e pppppp
    leash_watch_next_start e ppppppp
    leash_op_cancel - p
"""


def _load() -> ctypes.CDLL:
    named = os.environ.get("LEASH_LIBRARY")
    tried = []
    for name in [named] if named else [_SONAME, ctypes.util.find_library("leash")]:
        if name is None:
            continue
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(
        "leash: the shared library is not there; install it, or name it in LEASH_LIBRARY: " + "; ".join(tried)
    )


def _declare(library: ctypes.CDLL) -> Any:
    """What has its calls, and no others."""
    declared = types.SimpleNamespace()
    for line in _CALLS.split("\n"):
        if not line.strip():
            continue
        name, result, *parameters = line.split()
        try:
            call = getattr(library, name)
        except AttributeError:
            raise ImportError(f"leash: {library._name} has no {name}(): it is too old for this package") from None
        call.restype = _TYPES[result]
        call.argtypes = [_TYPES[letter] for letter in "".join(parameters)]
        setattr(declared, name, call)
    return declared


lib = _declare(_load())
