"""Conditions of locks, for tasks that notify; see leash/condition.h."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

from ..calls import Handle
from ..condition import ConditionBase, condition_of
from .operation import Nothing

if TYPE_CHECKING:
    from .lock import Lock


class Condition(ConditionBase[Nothing]):
    """Made by Lock.condition()."""

    lock: Lock

    def __init__(self, lock: Lock, name: str, options: Mapping[str, Any]) -> None:
        self.lock = lock
        self.name = name
        self._client = lock.client
        self._handle = condition_of(lock._any(), name, options)

    def _any(self) -> Handle:
        return self._handle
