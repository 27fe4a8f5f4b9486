"""A client that is open: what locks and semaphores need of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, TypeVar

from . import inspection, waits
from .calls import Handle
from .core import Core
from .events import EventFunction, LogFunction
from .native import lib

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import ClientOptions

S = TypeVar("S", bound="Session")


class Session(inspection.Figures):
    def __init__(
        self,
        uri: Optional[str] = None,
        *,
        on_event: Optional[EventFunction] = None,
        on_log: Optional[LogFunction] = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        def open_core(cancel: Optional[Handle]) -> Core:
            return Core(uri, options, on_event, on_log, cancel)

        self._core = waits.run(open_core, Core.close) if options.get("open_wait") else open_core(None)
        self._main_owner = Handle(lib.leash_owner_new, lib.leash_owner_free)

    @property
    def uri(self) -> str:
        """Where its locks live, without secrets."""
        return self._core.uri

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __repr__(self) -> str:
        return f"<leash.Client {self.uri}{', closed' if self.closed else ''}>"

    def close(self) -> None:
        """Release what is held, and wake all who wait (Closed). Again it does nothing."""
        self._core.close()

    def _ready(self) -> Core:
        return self._core

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, _type: object, _exception: Optional[BaseException], _at: object) -> None:
        self.close()

    def scan(self, pattern: Optional[str] = None) -> list[inspection.LockInfo]:
        """Every lock that is held in the deployment, of whatever kind, and whose name fits, as fnmatch has it.

        The server is not blocked. Some may be there twice, see leash/inspect.h."""
        return inspection.scan(self._core, pattern)
