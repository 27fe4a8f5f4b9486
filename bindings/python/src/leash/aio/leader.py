"""Leaders, for tasks that watch; see leash/leader.h."""

from __future__ import annotations

from typing import Optional

from .. import inspection
from ..leader import WatchBase
from .operation import Nothing


class Watch(WatchBase[Nothing]):
    __doc__ = WatchBase.__doc__

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Optional[inspection.Leader]:
        with self._news() as found:
            await self._next(found)
        return inspection.leader(found)
