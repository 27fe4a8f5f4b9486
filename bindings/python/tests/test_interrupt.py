"""Waits of the main thread, and signals."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType
from typing import Any, Iterator, Optional

import leash
import pytest
from conftest import Server, eventually, interrupt

from leash import inspection, waits


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """The signals that a handler got, which returns."""
    numbers: list[int] = []

    def handle(number: int, _frame: Optional[FrameType]) -> None:
        numbers.append(number)

    before = signal.signal(signal.SIGUSR1, handle)
    yield numbers
    signal.signal(signal.SIGUSR1, before)


def test_ctrl_c_ends_a_wait_for_a_lock(client: leash.Client, other: leash.Client, name: str) -> None:
    lock, theirs = client.lock(name), other.lock(name)
    with theirs:
        interrupter = interrupt(lambda: theirs.inspect().waiting == 1)
        with pytest.raises(KeyboardInterrupt):
            lock.acquire()
        interrupter.join()
        assert lock.depth == 0
        eventually(lambda: theirs.inspect().waiting == 0)
    with lock:
        assert lock.held


def test_a_handler_that_returns_costs_no_place(
    client: leash.Client, other: leash.Client, name: str, handled: list[int]
) -> None:
    lock, theirs = client.lock(name, fair=True), other.lock(name, fair=True)
    order = []
    free = threading.Event()

    def hold_it() -> None:
        with theirs:
            free.set()
            eventually(lambda: theirs.inspect().waiting == 1)
            second.start()
            eventually(lambda: theirs.inspect().waiting == 2)
            for times in range(1, 4):
                os.kill(os.getpid(), signal.SIGUSR1)
                eventually(lambda: len(handled) == times)
            assert theirs.inspect().waiting == 2

    def come_second() -> None:
        with theirs:
            order.append("second")

    first, second = threading.Thread(target=hold_it), threading.Thread(target=come_second)
    first.start()
    free.wait()
    with lock:
        order.append("main")
    first.join()
    second.join()
    assert order == ["main", "second"] and len(handled) == 3


def test_ctrl_c_ends_a_wait_for_several_locks(client: leash.Client, other: leash.Client, name: str) -> None:
    both = client.multi([name + "/a", name + "/b"])
    with other.lock(name + "/b") as theirs:
        interrupter = interrupt(lambda: theirs.inspect().waiting == 1)
        with pytest.raises(KeyboardInterrupt):
            both.acquire()
        interrupter.join()
        assert not any(lock.depth for lock in both.locks)
        assert other.lock(name + "/a").acquire(timeout=20)


def test_ctrl_c_ends_a_wait_for_permits(client: leash.Client, other: leash.Client, name: str) -> None:
    semaphore, theirs = client.semaphore(name, 1), other.semaphore(name, 1)
    with theirs.acquire():
        interrupter = interrupt(lambda: theirs.inspect().waiting == 1)
        with pytest.raises(KeyboardInterrupt):
            semaphore.acquire()
        interrupter.join()
    semaphore.acquire(timeout=20).release()


def test_ctrl_c_ends_a_wait_for_the_server(server: Server) -> None:
    began = time.monotonic()
    interrupter = interrupt(lambda: time.monotonic() > began + 0.3)
    with pytest.raises(KeyboardInterrupt):
        leash.Client(f"unix://{server.socket}.none", open_wait=float("inf"))
    interrupter.join()


def test_what_came_all_the_same_is_given_back() -> None:
    undone: list[str] = []
    waiting = threading.Event()
    interrupter = interrupt(waiting.is_set)

    def wait_for_it(_cancel: object) -> str:
        waiting.set()
        interrupter.join()
        time.sleep(0.2)  # for the main thread
        return "it"

    with pytest.raises(KeyboardInterrupt):
        waits.run(wait_for_it, undone.append)
    assert undone == ["it"]
    assert waits.run(wait_for_it, undone.append) == "it"
    assert undone == ["it"]


def test_a_second_ctrl_c_does_not_leave_the_wait_behind() -> None:
    over = []
    waiting = threading.Event()

    def wait_for_it(_cancel: object) -> None:
        waiting.set()
        for _ in range(3):
            interrupt(waiting.is_set).join()
            time.sleep(0.2)
        over.append(True)

    with pytest.raises(KeyboardInterrupt):
        waits.run(wait_for_it, lambda _: None)
    assert over == [True]


def test_two_signals_at_once_do_not_leave_the_wait_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    over = []
    fire = waits.Cancel.fire

    def interrupted(cancel: waits.Cancel) -> None:
        monkeypatch.setattr(waits.Cancel, "fire", fire)
        raise SystemExit

    def wait_for_it(_cancel: object) -> None:
        interrupt(lambda: True).join()
        time.sleep(0.3)  # for the main thread
        over.append(True)

    monkeypatch.setattr(waits.Cancel, "fire", interrupted)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        waits.run(wait_for_it)
    assert over == [True]


def test_a_wait_that_was_left_at_its_end_is_over() -> None:
    wait = waits._Wait(lambda _: None)
    wait.run(waits.Cancel())
    wait._end.acquire()
    wait.until_over()


def test_waits_one_after_the_other_use_one_helper(client: leash.Client, name: str) -> None:
    lock = client.lock(name)
    with lock:
        pass
    threads = threading.active_count()
    for _ in range(100):
        with lock:
            pass
    assert threading.active_count() == threads


def test_ctrl_c_ends_a_walk_through_all_locks(
    client: leash.Client, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited: list[inspection.LockInfo] = []
    read = inspection._read

    def interrupted(*args: Any) -> Any:
        if not visited:
            interrupt(lambda: True).join()
            time.sleep(0.2)  # for the main thread
        result = read(*args)
        if isinstance(result, inspection.LockInfo):
            visited.append(result)
        return result

    monkeypatch.setattr(inspection, "_read", interrupted)
    with client.multi([f"{name}/{i}" for i in range(10)]):
        with pytest.raises(KeyboardInterrupt):
            client.scan(name + "*")
        assert len(visited) == 1
        assert len(client.scan(name + "*")) == 10


def test_a_handler_that_acquires_during_a_wait_is_refused(
    client: leash.Client, other: leash.Client, name: str
) -> None:
    refused = []

    def handle(_number: int, _frame: Optional[FrameType]) -> None:
        try:
            client.lock(name + "/another").acquire()
        except leash.Invalid as error:
            refused.append(error)

    before = signal.signal(signal.SIGUSR1, handle)
    with other.lock(name) as theirs:
        interrupter = interrupt(lambda: theirs.inspect().waiting == 1, signal.SIGUSR1)
        assert not client.lock(name).acquire(timeout=1)
    interrupter.join()
    signal.signal(signal.SIGUSR1, before)
    assert len(refused) == 1
