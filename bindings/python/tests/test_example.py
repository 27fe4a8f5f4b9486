"""The example counts each task of each program once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE, Server


def test_a_thousand_tasks_each_of_three_programs_lose_no_update(
    server: Server, package: Path, tmp_path: Path
) -> None:
    counter = tmp_path / "counter"
    command = [sys.executable, "-W", "error", str(package / "examples" / "tasks.py"), str(counter), server.uri]
    programs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    try:
        said = [program.communicate(timeout=10 * PATIENCE)[0] for program in programs]
    finally:
        for program in programs:
            program.kill()
            program.communicate()
    assert said == ["1000 tasks are done, 0 overlaps\n"] * 3
    assert counter.read_text() == "3000"
    assert not server.holds("tasks")
