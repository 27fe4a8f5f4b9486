"""Latches and barriers for tasks; see leash/gate.h."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import inspection
from ..gate import BarrierBase, LatchBase
from .operation import Nothing

if TYPE_CHECKING:
    from .client import Client


class Latch(LatchBase[Nothing]):
    __doc__ = LatchBase.__doc__
    client: Client

    async def arrived(self) -> int:
        """Ask the server how many parties have arrived."""
        return await self.client._in_thread(inspection.arrived, self._handle)


class Barrier(BarrierBase[Nothing]):
    __doc__ = BarrierBase.__doc__
