"""Conditions of threads."""

from __future__ import annotations

import threading

import leash
import pytest
from conftest import eventually, in_thread, interrupt


def test_a_queue_between_two_clients(client: leash.Client, other: leash.Client, name: str) -> None:
    queue: list[int] = []
    lock, theirs = client.lock(name), other.lock(name)

    def put() -> None:
        not_empty = theirs.condition("not empty")
        for i in range(20):
            with theirs.condition("not full") as not_full:
                not_full.wait_for(lambda: not queue)
                queue.append(i)
                not_empty.notify()

    putter = threading.Thread(target=put)
    putter.start()
    taken = []
    for _ in range(20):
        with lock.condition("not empty") as not_empty:
            not_empty.wait_for(lambda: queue)
            taken.append(queue.pop())
            lock.condition("not full").notify()
    putter.join()
    assert taken == list(range(20))


def test_who_waits_gives_the_lock_up_however_deep_and_has_it_again(
    client: leash.Client, other: leash.Client, name: str
) -> None:
    lock, theirs = client.lock(name), other.lock(name)
    begun: list[int] = []
    depths: list[int] = []

    def wait() -> None:
        with lock, lock.condition("changed") as changed:
            begun.append(lock.depth)
            assert changed.wait() and lock.held
            depths.append(lock.depth)

    waiters = [threading.Thread(target=wait) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    eventually(lambda: len(begun) == 3)
    with theirs:  # so the last one waits, too
        theirs.condition("changed").notify_all()
    for waiter in waiters:
        waiter.join()
    assert begun == depths == [2, 2, 2]


def test_a_wait_says_false_at_the_end_of_its_time(client: leash.Client, name: str) -> None:
    with client.lock(name).condition("never") as never:
        assert never.wait(timeout=0) is False and never.wait(timeout=1) is False
        assert never.wait_for(lambda: "", timeout=0) == ""
        assert never.wait_for(lambda: "so", timeout=0) == "so"
        assert never.lock.held
    with pytest.raises(leash.NotHeld):
        never.wait(timeout=1)


def test_a_wait_ends_without_a_notification_to_look_again(client: leash.Client, name: str) -> None:
    with client.lock(name).condition("never", recheck=0.1) as never:
        assert never.wait() and never.lock.held


def test_ctrl_c_ends_a_wait_and_the_lock_is_held_again(
    client: leash.Client, other: leash.Client, name: str
) -> None:
    lock, theirs = client.lock(name), other.lock(name)
    with lock.condition("never") as never:
        interrupter = interrupt(lambda: client.stats().waiting == 1 and not theirs.locked())
        with pytest.raises(KeyboardInterrupt):
            never.wait()
        interrupter.join()
        assert lock.held and lock.depth == 1
        assert not theirs.acquire(False)
    assert theirs.acquire(timeout=20)
    theirs.release()


def test_an_exception_of_the_predicate_leaves_the_lock_as_any_other(client: leash.Client, name: str) -> None:
    lock = client.lock(name)
    with pytest.raises(ZeroDivisionError):
        with lock.condition("bad") as bad:
            bad.wait_for(lambda: 1 / 0)
    assert lock.depth == 0 and in_thread(lambda: lock.acquire(timeout=20))


def test_a_lock_that_could_not_be_had_again_is_told(client: leash.Client, other: leash.Client, name: str) -> None:
    lock, theirs = client.lock(name), other.lock(name)
    free = threading.Event()

    def take_and_notify() -> None:
        with theirs:
            theirs.condition("changed").notify()
            free.wait()

    taker = threading.Thread(target=take_and_notify)
    try:
        with pytest.raises(leash.Unavailable):
            with lock.condition("changed", reacquire=0.1) as changed:
                taker.start()
                changed.wait()
    finally:
        free.set()
        taker.join()
    assert lock.depth == 0


def test_what_cannot_be_is_refused(client: leash.Client, name: str) -> None:
    lock = client.lock(name)
    with pytest.raises(leash.Invalid):
        lock.condition("a?b")
    with pytest.raises(leash.Invalid):
        lock.condition("a", recheck=0.001)
    with pytest.raises(TypeError, match="rechek"):
        lock.condition("a", rechek=1)  # type: ignore[call-arg]
    with pytest.raises(leash.Invalid):
        client.lock(name + "/read", mode="read").condition("a")
