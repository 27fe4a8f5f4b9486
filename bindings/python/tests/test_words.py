"""What the package repeats of the headers is what they say."""

from __future__ import annotations

import dataclasses
import pickle
import re
from pathlib import Path
from typing import Any

import leash
import pytest

from leash import errors, events, inspection, native, options, structs, times


def enum(header: Path, prefix: str) -> list[str]:
    """Names that begin so, in their order."""
    return re.findall(rf"^\t{prefix}([A-Z_]+)(?: = \d+)?,", header.read_text(), re.MULTILINE)


def test_each_status_has_a_class(headers: Path) -> None:
    statuses = re.findall(r"X\(([A-Z_]+), (\d+),", (headers / "status.h").read_text())
    assert len(statuses) > 15
    for status, number in statuses[1:]:
        made = errors.classes[int(number)]
        assert made.status == status and made is getattr(leash, made.__name__) and made.__doc__
    assert len(errors.classes) == len(statuses) - 1


def test_errors_are_caught_by_the_names_of_python_too() -> None:
    for own, pythons in (
        (leash.Timeout, TimeoutError),
        (leash.Unavailable, ConnectionError),
        (leash.Denied, PermissionError),
        (leash.Invalid, ValueError),
        (leash.NoMemory, MemoryError),
    ):
        error = own("lock 'a': text", 13)
        assert isinstance(error, pythons) and isinstance(error, leash.LeashError)
        assert (str(error), error.sys_errno) == ("lock 'a': text", 13)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.sys_errno) == (own, "lock 'a': text", 13)


def test_a_server_that_is_away_is_named() -> None:
    with pytest.raises(leash.Unavailable, match="unix:///nowhere") as raised:
        leash.Client("unix:///nowhere")
    assert raised.value.sys_errno != 0


def test_words_for_numbers_are_in_the_order_of_the_headers(headers: Path) -> None:
    assert [mode.lower() for mode in enum(headers / "lock_options.h", "LEASH_")] == list(structs.MODES)
    assert tuple(options.Mode.__args__) == structs.MODES  # type: ignore[attr-defined]
    kinds = enum(headers / "inspect.h", "LEASH_KIND_")
    assert [kind.lower().replace("_", "-") for kind in kinds] == list(inspection.KINDS)
    assert [level.lower() for level in enum(headers / "event.h", "LEASH_LOG_")] == list(events._LEVELS[1:])
    assert [time.lower() for time in enum(headers / "metrics.h", "LEASH_TIME_")] == list(inspection.TIMES)
    assert [kind.lower() for kind in enum(headers / "fields.h", "LEASH_TYPE_")] == [
        "signed", "unsigned", "bool", "chars", "text", "pointer", "party"
    ]


@pytest.mark.parametrize(
    "struct, typed, besides",
    [
        (structs.Options, options.ClientFields, {"uri"}),
        (structs.LockOptions, options.LockFields, set()),
        (structs.ConditionOptions, options.ConditionOptions, set()),
    ],
)
def test_each_option_has_a_type(struct: Any, typed: Any, besides: set[str]) -> None:
    assert set(struct.settable) == set(typed.__annotations__) | besides
    for option, type_ in typed.__annotations__.items():
        field, convert = struct.settable[option]
        assert (convert is times.milliseconds) == field.endswith("_ms") == ("float" in str(type_))


@pytest.mark.parametrize(
    "struct, shown",
    [
        (structs.Party, inspection.Party),
        (structs.LockInfo, inspection.LockInfo),
        (structs.HoldInfo, inspection.HoldInfo),
        (structs.WaiterInfo, inspection.WaiterInfo),
        (structs.Stats, inspection.Stats),
        (structs.Times, inspection.Times),
        (structs.Leader, inspection.Leader),
    ],
)
def test_each_field_is_shown(struct: Any, shown: Any) -> None:
    fields = [field[0] for field in struct._fields_ if field[0] not in ("size", "leads") and field[0][0] != "_"]
    assert [re.sub("_[mn]s$", "", field) for field in fields] == [field.name for field in dataclasses.fields(shown)]


def test_structs_lie_as_the_library_has_them(headers: Path) -> None:
    for name in ("Party", "Error", "Options", "LockOptions", "Acquire", "Event", "LockInfo", "HoldInfo", "Stats"):
        struct = getattr(structs, name)
        found = native.lib.leash_struct_fields(struct.__name__.encode(), None)
        for i in range(1000):
            if not found[i].name:
                break
            field = getattr(struct, found[i].name.decode())
            assert (field.offset, field.size) == (found[i].offset, found[i].size)
        assert i > 2


def test_each_call_that_is_declared_has_its_number_of_parameters(headers: Path) -> None:
    text = "".join(header.read_text() for header in headers.glob("*.h"))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for line in native._CALLS.split("\n"):
        if line.strip():
            name, _, *parameters = line.split()
            found = re.search(rf"\b{name}\(([^;]*)\);", text)
            assert found, name
            wanted = found.group(1).replace("void", "void").split(",")
            assert len("".join(parameters)) == (0 if wanted == ["void"] else len(wanted)), name


def test_the_version_is_that_of_the_library(package: Path) -> None:
    assert f'version = "{leash.__version__}"' in (package / "pyproject.toml").read_text()


def test_seconds_are_rounded_up_to_milliseconds() -> None:
    for seconds, ms in ((0, 0), (0.1, 100), (2.3, 2300), (1e-9, 1), (1.0001, 1001), (16.1, 16100), (3, 3000)):
        assert times.milliseconds(seconds) == ms
    assert times.milliseconds(float("inf")) == times.FOREVER == times.wait(True, None) == times.wait(True, -1)
    assert times.wait(False, -1) == 0
    with pytest.raises(ValueError):
        times.milliseconds(float("nan"))
