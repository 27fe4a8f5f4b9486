"""A server for all tests, on a socket in a folder that is removed with it; and what many tests say."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Awaitable, Callable, Coroutine, Iterator, TypeVar

import pytest

import leash

T = TypeVar("T")

PATIENCE = 30.0  # seconds, after which something hangs


# Programs that tests run find the package, too, and leave nothing beside it.
os.environ["PYTHONPATH"] = str(Path(leash.__file__).parent.parent)
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """For tests/python/test_python.sh: a line with the outcome, the sentence, and why it was skipped."""
    if "LEASH_TEST_RESULTS" not in os.environ or (report.when != "call" and report.passed):
        return
    path, _, sentence = report.nodeid.partition("::test_")
    words = f"{Path(path).stem[len('test_'):]}: {sentence.replace('_', ' ')}"
    reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
    with open(os.environ["LEASH_TEST_RESULTS"], "a") as results:
        print(report.outcome, words, reason, sep="\t", file=results)


class Server:
    def __init__(self, folder: str) -> None:
        self.socket = os.path.join(folder, "redis.sock")
        program = os.environ.get("LEASH_TEST_SERVER", "redis-server")
        command = [program, "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir", folder]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        eventually(lambda: self.ask("PING") == "PONG")

    @property
    def uri(self) -> str:
        return f"unix://{self.socket}?timeout=10000"  # the machine may stand still for a second

    def ask(self, *words: str) -> str:
        done = subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True)
        return done.stdout.strip()

    def holds(self, name: str) -> bool:
        return self.ask("EXISTS", f"leash:{{{name}}}") == "1"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def eventually(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def in_thread(function: Callable[[], T]) -> T:
    """What it returns or raises in a thread of its own."""
    result: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            result.append(function())
        except BaseException as exception:
            raised.append(exception)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return result[0]


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


async def eventually_so(is_so: Callable[[], Awaitable[object]]) -> None:
    end = time.monotonic() + PATIENCE
    while not await is_so():
        assert time.monotonic() < end, "it did not come true"
        await asyncio.sleep(0.01)


async def is_value(value: bool) -> bool:
    return value


CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.fixture(autouse=True)
def ctrl_c() -> None:
    """A shell has its background jobs ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def interrupt(is_time: Callable[[], object], number: int = signal.SIGINT) -> threading.Thread:
    """A thread that does so by then."""

    def wait_and_do() -> None:
        eventually(is_time)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=wait_and_do)
    thread.start()
    return thread


def python(program: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A program of its own, that shows the errors which Python would hide."""
    command = [sys.executable, "-W", "default", "-X", "faulthandler", "-c", CTRL_C + program, *arguments]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, text=True, env={**os.environ, **environment}, **pipes)


def ended(process: subprocess.Popen[str], status: int = 0) -> str:
    """What it said, once it has ended with that, and without an error."""
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (status, ""), err
    return out


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    folder = tempfile.mkdtemp(prefix="leash-python.")
    server = Server(folder)
    yield server
    server.end()
    shutil.rmtree(folder)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Of a lock that no other test uses."""
    return str(request.node.name)


@pytest.fixture
def client(server: Server) -> Iterator[leash.Client]:
    with leash.Client(server.uri) as client:
        yield client


@pytest.fixture
def other(server: Server) -> Iterator[leash.Client]:
    """A client that might be another process."""
    with leash.Client(server.uri) as client:
        yield client


@pytest.fixture
def package() -> Path:
    return Path(__file__).parent.parent


@pytest.fixture
def headers() -> Path:
    return Path(__file__).parent.parent.parent.parent / "include" / "leash"
