"""The structs of leash.h, built from what the library says about them (leash/fields.h): no layout is repeated here.

A struct that a program sets has `settable`: each option by its name in Python, with its field and the function that
converts the option to the field's value. A time loses its `_ms` and is in seconds. An option that a later version of
the library adds is there as well."""

from __future__ import annotations

import ctypes
import itertools
import operator
from typing import Any, Callable, Mapping, Optional

from .native import Field, lib
from .times import milliseconds

MODES = ("mutex", "read", "write", "redisson")  # enum leash_mode, in its order

_SIGNED, _UNSIGNED, _BOOL, _CHARS, _TEXT, _POINTER, _PARTY = range(1, 8)  # enum leash_type


def text(given: str) -> bytes:
    """As C has it. Bytes that are not UTF-8 are converted as os.fsencode() does."""
    encoded = given.encode("utf-8", "surrogateescape")
    if b"\0" in encoded:
        raise ValueError("embedded null character")
    return encoded


def string(given: bytes) -> str:
    return given.decode("utf-8", "surrogateescape")


def _integer(value: Any) -> int:
    number = operator.index(value)
    if not 0 <= number < 2**31:  # ctypes would cut it
        raise ValueError(f"{number} is out of range")
    return number


def _mode(value: str) -> int:
    if value not in MODES:
        raise ValueError(f"mode is {value!r}, but must be one of {', '.join(MODES)}")
    return MODES.index(value)


def _type(field: Field) -> Any:
    if field.type == _CHARS:
        return ctypes.c_char * field.size
    if field.type == _PARTY:
        return Party
    by_size = {4: (ctypes.c_int32, ctypes.c_uint32), 8: (ctypes.c_int64, ctypes.c_uint64)}
    if field.type in (_SIGNED, _UNSIGNED):
        return by_size[field.size][field.type == _UNSIGNED]
    return {_BOOL: ctypes.c_bool, _TEXT: ctypes.c_char_p, _POINTER: ctypes.c_void_p}[field.type]


def _option(name: str, kind: int) -> Optional[tuple[str, Callable[[Any], Any]]]:
    if name == "size" or kind not in (_SIGNED, _UNSIGNED, _BOOL, _TEXT):
        return None
    if name == "mode":
        return name, _mode
    if name.endswith("_ms"):
        return name[: -len("_ms")], milliseconds
    by_kind: dict[int, Callable[[Any], Any]] = {_BOOL: bool, _TEXT: text}
    return name, by_kind.get(kind, _integer)


def _build(name: str) -> Any:
    size = ctypes.c_size_t()
    found = lib.leash_struct_fields(name.encode(), ctypes.byref(size))
    if not found:
        raise ImportError(f"leash: the library does not know {name}: it is too old for this package")
    fields: list[tuple[str, Any]] = []
    settable: dict[str, tuple[str, Callable[[Any], Any]]] = {}
    end = 0
    for field in itertools.takewhile(lambda field: field.name, (found[i] for i in itertools.count())):
        if field.offset > end:
            fields.append((f"_{end}", ctypes.c_char * (field.offset - end)))  # what is reserved
        own = field.name.decode()
        fields.append((own, _type(field)))
        option = _option(own, field.type)
        if option is not None:
            settable[option[0]] = own, option[1]
        end = field.offset + field.size
    if size.value > end:
        fields.append((f"_{end}", ctypes.c_char * (size.value - end)))
    made = type(name, (ctypes.Structure,), {"_fields_": fields, "settable": settable})
    if ctypes.sizeof(made) != size.value:
        raise ImportError(f"leash: {name} cannot be built as the library has it")
    return made


def make(struct: Any, options: Optional[Mapping[str, Any]] = None, **fields: Any) -> Any:
    """A struct with its size and the named `options` set; None is the default. `fields` are set as in C."""
    made = struct(size=ctypes.sizeof(struct), **fields)
    for name, value in (options or {}).items():
        if name not in struct.settable:
            raise TypeError(f"{name!r} is no option of {struct.__name__}")
        field, convert = struct.settable[name]
        if value is not None:
            setattr(made, field, convert(value))
    return made


Party = _build("leash_party")
Error = _build("leash_error")
Options = _build("leash_options")
LockOptions = _build("leash_lock_options")
Acquire = _build("leash_acquire")
ConditionOptions = _build("leash_condition_options")
Event = _build("leash_event")
LockInfo = _build("leash_lock_info")
HoldInfo = _build("leash_hold_info")
WaiterInfo = _build("leash_waiter_info")
Stats = _build("leash_stats")
Times = _build("leash_times")
Leader = _build("leash_leader")
