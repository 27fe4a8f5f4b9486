"""Sets of locks for tasks: all or none, without deadlocks; see leash/multi.h."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping

from ..calls import Handle
from ..lock import SetView, set_of
from ..native import lib
from .shared import Hold, Shared

if TYPE_CHECKING:
    from .client import Client


class MultiHold(Hold, SetView): ...


class Multi(Shared[MultiHold], SetView):
    """Several locks by their names. Made by Client.multi(). `held` and the like are about the current task's hold."""

    _kind = "leash_multi"
    _hold_type = MultiHold

    def __init__(self, client: Client, names: Iterable[str], options: Mapping[str, Any]) -> None:
        self.names = tuple(names)
        self._options = options
        super().__init__(client, options)

    def _new(self) -> Handle:
        core, owner = self.client._ready(), Handle(lib.leash_owner_new, lib.leash_owner_free)
        return set_of([core.lock(name, self._options, owner) for name in self.names])

    def __repr__(self) -> str:
        return f"<leash.aio.Multi {list(self.names)!r} at {self.client.uri}>"
