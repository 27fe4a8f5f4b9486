"""Times are seconds in Python, as in threading and asyncio, and whole milliseconds in C."""

from __future__ import annotations

import itertools
import math
import time
from typing import Iterator, Optional

FOREVER = -(2**63)  # LEASH_FOREVER


def milliseconds(seconds: float) -> int:
    """Rounded up, so that a wait of a microsecond does not become 0. math.inf means without limit."""
    if seconds == math.inf:
        return FOREVER
    ms = math.ceil(round(seconds * 1000, 6))
    if abs(ms) >= 2**63:
        raise OverflowError(f"{seconds} s are more than leash can count")
    return ms


def limit(seconds: Optional[float]) -> int:
    """None means without limit."""
    return milliseconds(math.inf if seconds is None else seconds)


def wait(blocking: bool, timeout: Optional[float]) -> int:
    """What threading.Lock.acquire() calls `blocking` and `timeout`; None is -1, without limit."""
    if not blocking:
        if timeout is not None and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        return 0
    if timeout is None or timeout == -1:
        return FOREVER
    if timeout < 0:
        raise ValueError("timeout value must be a non-negative number, or -1, or None")
    return milliseconds(timeout)


def left(timeout: Optional[float]) -> Iterator[float]:
    """How much of `timeout` seconds is left, each time it is asked, without an end; None means without limit."""
    end = time.monotonic() + (math.inf if timeout is None else timeout)
    return (end - time.monotonic() for _ in itertools.count())
