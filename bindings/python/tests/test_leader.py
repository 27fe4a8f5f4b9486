"""Leaders, and threads that watch them."""

from __future__ import annotations

import leash
import pytest
from conftest import eventually, interrupt


def test_who_watches_learns_who_leads(client: leash.Client, other: leash.Client, name: str) -> None:
    lock, watch = client.lock(name), iter(other.watch_leader(name, wait=20))
    assert next(watch) is None and other.leader(name) is None
    with lock:
        lock.proclaim("10.0.0.7:8080")
        leader = next(watch)
        while leader is None or not leader.value:  # perhaps it leads without a value first
            leader = next(watch)
        assert (leader.value, leader.fence, leader.token) == ("10.0.0.7:8080", lock.fence, lock.token)
        assert 0 < leader.remaining <= 30
        now = other.leader(name)
        assert now is not None and now.value == "10.0.0.7:8080"
        lock.proclaim("größer")
        leader = next(watch)
        assert leader is not None and leader.value == "größer"
    assert next(watch) is None


def test_a_watch_goes_on_behind_the_end_of_its_time(client: leash.Client, other: leash.Client, name: str) -> None:
    watch = other.watch_leader(name, wait=1)
    assert next(watch) is None
    with pytest.raises(leash.Timeout):
        next(watch)

    def hears() -> bool:
        try:
            return next(watch) is not None
        except leash.Timeout:
            return False

    with client.lock(name):
        eventually(hears)


def test_ctrl_c_ends_a_wait_for_news_and_it_begins_anew(client: leash.Client, name: str) -> None:
    watch = client.watch_leader(name)
    assert next(watch) is None
    interrupter = interrupt(lambda: client.stats().waiting == 1)
    with pytest.raises(KeyboardInterrupt):
        next(watch)
    interrupter.join()
    assert next(watch) is None


def test_who_does_not_hold_it_proclaims_nothing(client: leash.Client, name: str) -> None:
    lock = client.lock(name)
    with pytest.raises(leash.NotHeld):
        lock.proclaim("me")
    with lock:
        for value in "", "x" * 4097:
            with pytest.raises(leash.Invalid):
                lock.proclaim(value)
        with pytest.raises(ValueError, match="null"):
            lock.proclaim("a\0b")
    with pytest.raises(leash.Invalid):
        client.watch_leader("")
