"""Semaphores of threads."""

from __future__ import annotations

import gc

import leash
import pytest
from conftest import Server, eventually, in_thread


def test_no_more_are_out_than_the_limit(client: leash.Client, other: leash.Client, name: str) -> None:
    here, there = client.semaphore(name, 3), other.semaphore(name, 3)
    with here.acquire(2) as two, there.acquire() as one:
        assert (two.held, two.count, one.count) == (True, 2, 1) and 0 < two.remaining <= 30
        with pytest.raises(leash.Timeout):
            there.acquire(timeout=0)
        with pytest.raises(leash.Timeout):
            in_thread(lambda: here.acquire(timeout=1))
        info = here.inspect()
        assert (info.out, info.permits, info.kind) == (3, 3, "semaphore")
        assert sorted(hold.count for hold in here.holders()) == [1, 2]
        assert here.waiters() == []
    here.acquire(3, timeout=5).release()


def test_some_of_them_may_be_given_back(client: leash.Client, name: str) -> None:
    semaphore = client.semaphore(name, 2)
    with semaphore.acquire(2) as permit:
        permit.release_some(1)
        assert permit.count == 1
        permit.extend(60)
        assert permit.remaining > 50
        semaphore.acquire(timeout=5).release()


def test_another_thread_may_give_them_back(client: leash.Client, name: str) -> None:
    semaphore = client.semaphore(name, 1)
    permit = semaphore.acquire()
    in_thread(permit.release)
    semaphore.acquire(timeout=5).release()


def test_what_was_given_back_is_nothing_any_more(client: leash.Client, name: str) -> None:
    permit = client.semaphore(name, 1).acquire()
    permit.release()
    assert (permit.held, permit.remaining, permit.count, permit.token) == (False, 0, 0, "")
    for call in (permit.release, lambda: permit.extend(1), lambda: permit.release_some(1)):
        with pytest.raises(leash.NotHeld):
            call()


def test_a_permit_that_was_forgotten_is_given_back(client: leash.Client, name: str) -> None:
    semaphore = client.semaphore(name, 1)
    with pytest.warns(ResourceWarning, match=name):
        semaphore.acquire()
        gc.collect()
    semaphore.acquire(timeout=20).release()
    eventually(lambda: semaphore.inspect().out == 0)


def test_permits_that_a_callback_could_not_release_are_still_there(server: Server, name: str) -> None:
    refused: list[leash.Event] = []

    def on_event(event: leash.Event) -> None:
        with pytest.raises(leash.InCallback):
            permit.release()
        refused.append(event)

    with leash.Client(server.uri, on_event=on_event) as client:
        permit = client.semaphore(name, 1).acquire()
        lock = client.lock(name + "/lock")
        lock.acquire()
        server.ask("DEL", f"leash:{{{name}/lock}}")
        with pytest.raises(leash.Lost):
            lock.extend(60)
        eventually(lambda: refused)
        permit.release()


def test_a_loss_is_told_when_they_are_given_back(client: leash.Client, name: str) -> None:
    semaphore = client.semaphore(name, 2)
    with pytest.raises(leash.Lost):
        with semaphore.acquire():
            semaphore.break_()


def test_an_operator_may_lower_the_limit(client: leash.Client, name: str) -> None:
    semaphore = client.semaphore(name, 2)
    semaphore.set_limit(1, 60)
    with semaphore.acquire():
        with pytest.raises(leash.Timeout):
            semaphore.acquire(timeout=0)
    semaphore.set_limit(0, 0)
    semaphore.acquire(2, timeout=5).release()


def test_more_than_there_are_is_refused(client: leash.Client, name: str) -> None:
    with pytest.raises(leash.Invalid):
        client.semaphore(name, 2).acquire(3)
    with pytest.raises(leash.Invalid):
        client.semaphore(name, 0)
