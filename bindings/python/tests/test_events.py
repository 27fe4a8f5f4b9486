"""Callbacks of leash."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import leash
import pytest
from conftest import Server, eventually


def test_a_loss_is_told(server: Server, name: str) -> None:
    events: list[leash.Event] = []
    threads: set[int] = set()

    def on_event(event: leash.Event) -> None:
        events.append(event)
        threads.add(threading.get_ident())

    with leash.Client(server.uri, on_event=on_event) as client:
        lock = client.lock(name)
        lock.acquire()
        fence = lock.fence
        lock.break_()
        eventually(lambda: events)
        with pytest.raises(leash.Lost):
            lock.release()
    assert [(event.type, event.lock, event.fence) for event in events] == [("LOST", name, fence)]
    assert events[0].text and events[0].remaining >= 0
    assert threading.get_ident() not in threads


def test_a_lock_may_have_a_callback_of_its_own(server: Server, name: str) -> None:
    events: list[str] = []
    own: list[str] = []
    with leash.Client(server.uri, on_event=lambda event: events.append(event.type)) as client:
        lock = client.lock(name, on_event=lambda event: own.append(event.type))
        lock.acquire()
        del lock  # the last handle of the name, which frees the lock
        gc.collect()
        eventually(lambda: own)
        eventually(lambda: not server.holds(name))
    assert (own, events) == (["ABANDONED"], [])


def test_a_thread_that_ends_abandons_what_it_holds(server: Server, name: str) -> None:
    events: list[str] = []
    with leash.Client(server.uri, on_event=lambda event: events.append(event.type)) as client:
        lock = client.lock(name)
        thread = threading.Thread(target=lock.acquire)
        thread.start()
        thread.join()
        eventually(lambda: events == ["ABANDONED"])
        assert lock.acquire(timeout=20)
        lock.release()


def test_an_exception_in_a_callback_is_reported_and_goes_no_further(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    events: list[str] = []

    def on_event(event: leash.Event) -> None:
        events.append(event.type)
        raise ZeroDivisionError

    with leash.Client(server.uri, on_event=on_event) as client:
        for _ in range(2):
            lock = client.lock(name)
            lock.acquire()
            lock.break_()
            with pytest.raises(leash.Lost):
                lock.release()
        eventually(lambda: len(events) == 2)
    assert [type(report.exc_value) for report in reported] == [ZeroDivisionError] * 2


def test_a_callback_must_not_wait_nor_close(server: Server, name: str) -> None:
    refused: list[BaseException] = []

    def on_event(_event: leash.Event) -> None:
        for call in (lambda: client.lock(name).acquire(), client.close):
            try:
                call()
            except leash.InCallback as error:
                refused.append(error)

    with leash.Client(server.uri, on_event=on_event) as client:
        lock = client.lock(name)
        lock.acquire()
        lock.break_()
        with pytest.raises(leash.Lost):
            lock.release()
        eventually(lambda: len(refused) == 2)
        assert not client.closed


def test_log_lines_have_a_level(server: Server) -> None:
    lines: list[tuple[str, str]] = []
    with leash.Client(server.uri, on_log=lambda level, line: lines.append((level, line))):
        pass
    assert lines and all(level in ("error", "warning", "info", "debug") and line for level, line in lines)


def test_callbacks_are_forgotten_with_their_client(server: Server, name: str) -> None:
    from leash import events

    before = len(events._functions)
    with leash.Client(server.uri, on_event=print, on_log=print) as client:
        client.lock(name, on_event=print)
        assert len(events._functions) == before + 1
    assert len(events._functions) == before
