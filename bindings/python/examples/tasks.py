"""A thousand tasks, one lock: each reads a number from a file, and writes it back with 1 added.

    python3 tasks.py FILE [URI [TASKS]]

Without the lock most of them would write a number that another one has written already. Any number of such programs,
on whatever machines, may use the same file at once: in the end it has counted all tasks of all programs."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Optional

from leash import aio


async def main(path: Path, uri: Optional[str], tasks: int) -> None:
    inside = overlaps = 0
    async with aio.Client(uri) as client:
        lock = client.lock("tasks")

        async def count() -> None:
            nonlocal inside, overlaps
            async with lock:
                overlaps += inside
                inside += 1
                number = int(path.read_text()) if path.exists() else 0
                await asyncio.sleep(0)  # the others run
                path.write_text(str(number + 1))
                inside -= 1

        await asyncio.gather(*(count() for _ in range(tasks)))
    print(f"{tasks} tasks are done, {overlaps} overlaps")


if __name__ == "__main__":
    asyncio.run(
        main(
            Path(sys.argv[1]),
            sys.argv[2] if len(sys.argv) > 2 else None,
            int(sys.argv[3]) if len(sys.argv) > 3 else 1000,
        )
    )
